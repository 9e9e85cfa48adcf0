/*
 * The log callback of FMI 2.0 is variadic, which stable Rust cannot define. This half formats the
 * message into a bounded buffer and hands it to the other half, in logger.rs.
 *
 * It does not trust the FMU to pass the arguments that its format asks for: many log a finished
 * text that happens to contain a '%'. Conversions that write (%n) or that are not known leave the
 * text as it is, and strings are read through the system, which survives a pointer to nowhere.
 */
#if defined(__linux__)
#define _GNU_SOURCE
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>
#endif
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 16384, LONGEST_STRING = 4096, LONGEST_CONVERSION = 64 };

extern void gyrator_fmu_receive_log(void *environment, const char *instance, int status,
                                    const char *category, const char *message, size_t length);

/* One conversion, such as "%-8.3f". */
struct conversion {
    char text[LONGEST_CONVERSION]; /* with widths filled in */
    size_t width;                  /* least bytes, 0 where none are asked for */
    size_t precision;              /* most bytes of a string */
    int has_precision;
    char length;                   /* 'H' for hh, 'q' for ll, else the modifier, 0 for none */
    char kind;                     /* the letter at its end */
};

/* Copies a C string of at most `most` bytes, page by page, without touching it. */
static void copy_string(char *target, const char *source, size_t most) {
    size_t copied = 0;
    if (source == NULL) source = "(null)";
    while (copied < most) {
        size_t wanted = 256 - (uintptr_t)(source + copied) % 256; /* never across a page */
        if (wanted > most - copied) wanted = most - copied;
#if defined(__linux__)
        struct iovec to = {target + copied, wanted};
        struct iovec from = {(void *)(source + copied), wanted};
        ssize_t read = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
        if (read < 0 && errno == EFAULT) {
            strcpy(target, "(unreadable)");
            return;
        }
        if (read <= 0) strncpy(target + copied, source + copied, wanted); /* no such call here */
#else
        strncpy(target + copied, source + copied, wanted);
#endif
        if (memchr(target + copied, '\0', wanted) != NULL) return;
        copied += wanted;
    }
    target[copied] = '\0';
}

/* Reads the conversion that follows a '%'. Returns its end, or NULL if it is not one to trust. */
static const char *read_conversion(struct conversion *result, const char *at, va_list *arguments) {
    size_t used = 0, point = 0;
    result->text[used++] = '%';
    result->width = result->precision = 0;
    result->has_precision = 0;
    result->length = 0;
    for (; *at != '\0' && strchr("-+ #0123456789.*'", *at) != NULL; ++at) {
        size_t *number = result->has_precision ? &result->precision : &result->width;
        if (used + 16 > sizeof result->text) return NULL;
        if (*at == '*') {
            int given = va_arg(*arguments, int);
            if (result->has_precision && given < 0) { /* as if there were none */
                result->has_precision = 0;
                result->precision = 0;
                used = point;
                continue;
            }
            *number = given < 0 ? (size_t)-(long long)given : (size_t)given;
            used += (size_t)snprintf(result->text + used, 13, "%d", given);
            continue;
        }
        if (*at == '.') {
            result->has_precision = 1;
            point = used;
        } else if (*at >= '0' && *at <= '9' && *number < LONGEST) {
            *number = *number * 10 + (size_t)(*at - '0');
        }
        result->text[used++] = *at;
    }
    if (result->width >= LONGEST) return NULL;
    for (; *at != '\0' && strchr("hlLqjzt", *at) != NULL; ++at) {
        if (used + 3 > sizeof result->text) return NULL;
        if (result->length == 'h' && *at == 'h') result->length = 'H';
        else if (result->length == 'l' && *at == 'l') result->length = 'q';
        else if (result->length == 0) result->length = *at;
        else return NULL;
        result->text[used++] = *at;
    }
    if (*at == '\0' || strchr("diouxXeEfFgGaAcsp%", *at) == NULL) return NULL;
    if (strchr("cs", *at) != NULL && result->length != 0) return NULL; /* wide characters */
    if (*at != 's' && result->precision >= LONGEST) return NULL; /* formatting it takes seconds */
    if (!result->has_precision || result->precision >= LONGEST_STRING) {
        result->precision = LONGEST_STRING - 1;
    }
    result->kind = *at;
    result->text[used++] = *at;
    result->text[used] = '\0';
    return at + 1;
}

/* Formats one argument. Returns the length it would have. */
static int format_argument(char *out, size_t room, const struct conversion *conversion,
                           va_list *arguments) {
    const char *text = conversion->text;
    char string[LONGEST_STRING];
    switch (conversion->kind) {
    case '%': return snprintf(out, room, "%%");
    case 'p': return snprintf(out, room, text, va_arg(*arguments, void *));
    case 'c': return snprintf(out, room, text, va_arg(*arguments, int));
    case 's':
        copy_string(string, va_arg(*arguments, const char *), conversion->precision);
        return snprintf(out, room, text, string);
    case 'd': case 'i': case 'o': case 'u': case 'x': case 'X':
        switch (conversion->length) {
        case 'l': return snprintf(out, room, text, va_arg(*arguments, long));
        case 'q': return snprintf(out, room, text, va_arg(*arguments, long long));
        case 'j': return snprintf(out, room, text, va_arg(*arguments, intmax_t));
        case 'z': return snprintf(out, room, text, va_arg(*arguments, size_t));
        case 't': return snprintf(out, room, text, va_arg(*arguments, ptrdiff_t));
        default: return snprintf(out, room, text, va_arg(*arguments, int));
        }
    default:
        if (conversion->length == 'L') {
            return snprintf(out, room, text, va_arg(*arguments, long double));
        }
        return snprintf(out, room, text, va_arg(*arguments, double));
    }
}

/* Formats the whole message. Returns its length, or -1 if the format is not one to trust. */
static long format(char *out, const char *text, va_list *arguments) {
    size_t length = 0;
    while (*text != '\0' && length < LONGEST - 1) {
        if (*text != '%') {
            out[length++] = *text++;
            continue;
        }
        struct conversion conversion;
        text = read_conversion(&conversion, text + 1, arguments);
        if (text == NULL) return -1;
        size_t room = LONGEST - length;
        int added = format_argument(out + length, room, &conversion, arguments);
        if (added < 0) return -1;
        length += (size_t)added < room ? (size_t)added : room - 1;
    }
    return (long)length;
}

void gyrator_fmu_logger(void *environment, const char *instance, int status, const char *category,
                        const char *message, ...) {
    char buffer[LONGEST];
    long length = -1;
    if (message == NULL) message = "";
    if (strchr(message, '%') != NULL) {
        va_list arguments;
        va_start(arguments, message);
        length = format(buffer, message, &arguments);
        va_end(arguments);
    }
    if (length < 0) {
        size_t whole = 0;
        while (whole < LONGEST && message[whole] != '\0') ++whole;
        gyrator_fmu_receive_log(environment, instance, status, category, message, whole);
    } else {
        gyrator_fmu_receive_log(environment, instance, status, category, buffer, (size_t)length);
    }
}
