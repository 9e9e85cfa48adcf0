/*
 * The log callback of FMI 2.0 is variadic, which stable Rust cannot define. This half formats the
 * message into a bounded buffer and hands it to the other half, in logger.rs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 16384 };

extern void gyrator_fmu_receive_log(void *environment, const char *instance, int status,
                                    const char *category, const char *message, size_t length);

/* Whether the format can be handed to vsnprintf: it has conversions, and none of them writes. */
static int is_format(const char *text) {
    int conversions = 0;
    for (const char *at = text; *at != '\0'; ++at) {
        if (*at != '%') continue;
        ++at;
        at += strspn(at, "-+ #0123456789.*hlLqjzt'");
        if (*at == '\0' || strchr("diouxXeEfFgGaAcsp%", *at) == NULL) return 0;
        ++conversions;
    }
    return conversions > 0;
}

void gyrator_fmu_logger(void *environment, const char *instance, int status, const char *category,
                        const char *message, ...) {
    char buffer[LONGEST];
    if (message == NULL) message = "";
    if (!is_format(message)) {
        gyrator_fmu_receive_log(environment, instance, status, category, message,
                                strnlen(message, LONGEST));
        return;
    }
    va_list arguments;
    va_start(arguments, message);
    int length = vsnprintf(buffer, sizeof buffer, message, arguments);
    va_end(arguments);
    if (length < 0) {
        gyrator_fmu_receive_log(environment, instance, status, category, message,
                                strnlen(message, LONGEST));
        return;
    }
    size_t kept = (size_t)length < sizeof buffer ? (size_t)length : sizeof buffer - 1;
    gyrator_fmu_receive_log(environment, instance, status, category, buffer, kept);
}
