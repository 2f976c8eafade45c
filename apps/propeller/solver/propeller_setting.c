#include "propeller_setting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cs_defs.h"

#include "bft_error.h"

static const char* text_of(const char* name, const char* otherwise) {
    const char* text = getenv(name);
    return text != NULL ? text : otherwise;
}

static double number_of(const char* name, double otherwise) {
    const char* text = getenv(name);
    char* end = NULL;
    double value = otherwise;
    if (text == NULL) return otherwise;
    value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value))
        bft_error(__FILE__, __LINE__, 0, "%s=%s: a number is due", name, text);
    return value;
}

const propeller_setting* propeller_get_setting(void) {
    static propeller_setting setting;
    static bool is_read = false;
    if (!is_read) {
        setting.diameter_m = number_of("PROPELLER_DIAMETER", 0.25);
        setting.revolutions_per_s = number_of("PROPELLER_REVOLUTIONS", 15.0);
        setting.advance = number_of("PROPELLER_ADVANCE", 0.6);
        setting.num_steps = (int)number_of("PROPELLER_STEPS", 10.0);
        setting.output_every = (int)number_of("PROPELLER_OUTPUT_EVERY", 1.0);
        setting.degrees_per_step = number_of("PROPELLER_DEGREES", 2.0);
        setting.turns = number_of("PROPELLER_TURNS", 0.0) > 0.0;
        setting.method = text_of("PROPELLER_METHOD", "none");
        setting.output = text_of("PROPELLER_OUTPUT", "propeller");
        setting.json = text_of("PROPELLER_JSON", "");
        setting.history = text_of("PROPELLER_HISTORY", "");
        setting.keeps_checkpoint = number_of("PROPELLER_CHECKPOINT", 0.0) > 0.0;
        setting.sync = number_of("PROPELLER_SYNC", 0.0) > 0.0;
        is_read = true;
    }
    return &setting;
}

double propeller_inflow_m_s(void) {
    const propeller_setting* setting = propeller_get_setting();
    return setting->advance * setting->revolutions_per_s * setting->diameter_m;
}

double propeller_omega_rad_s(void) {
    return 2.0 * acos(-1.0) * propeller_get_setting()->revolutions_per_s;
}
