libkvsim_a_SOURCES += \
	%D%/drafter.c %D%/drafter.h \
	%D%/kv_layout.c %D%/kv_layout.h \
	%D%/kv_layout_compressed.c %D%/kv_layout_compressed.h \
	%D%/model.c %D%/model.h \
	%D%/model_config.c %D%/model_config.h \
	%D%/model_experts.c \
	%D%/model_family.c %D%/model_family.h \
	%D%/model_layers.c \
	%D%/model_quantization.c \
	%D%/model_shapes.c \
	%D%/model_unknown.c \
	%D%/model_vision.c \
	%D%/name_patterns.c %D%/name_patterns.h \
	%D%/weights.c %D%/weights.h \
	%D%/wide_layers.c %D%/wide_layers.h
