libkvsim_a_SOURCES += \
	%D%/config_fields.c %D%/config_fields.h \
	%D%/csv_table.c %D%/csv_table.h \
	%D%/error.c %D%/error.h \
	%D%/heap.c %D%/heap.h \
	%D%/memory.c %D%/memory.h \
	%D%/names.c %D%/names.h \
	%D%/param.c %D%/param.h \
	%D%/quantity.c %D%/quantity.h \
	%D%/random.c %D%/random.h \
	%D%/remarks.c %D%/remarks.h \
	%D%/units.h \
	%D%/yaml_tree.c %D%/yaml_tree.h
