/* Files that report.html contains, turned into arrays when building. */
#ifndef KV_RESULTS_REPORT_ASSETS_H
#define KV_RESULTS_REPORT_ASSETS_H

#include <stddef.h>

struct kv_asset {
	const unsigned char *bytes;
	size_t size;
};

extern const struct kv_asset kv_asset_dygraphs_css;
extern const struct kv_asset kv_asset_dygraphs_js;
extern const struct kv_asset kv_asset_synchronizer_js;
extern const struct kv_asset kv_asset_report_css;
extern const struct kv_asset kv_asset_report_js;

#endif
