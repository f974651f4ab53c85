/* output.c: see output.h. */
#include "observe/output.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void add(csk_line_t *line, const char *format, va_list arguments) {
    if (line->length + 1 >= line->size) return;
    int length = vsnprintf(line->text + line->length, line->size - line->length, format, arguments);
    line->length += length > 0 ? (size_t)length : 0;
    if (line->length >= line->size) line->length = line->size - 1;
}

void csk_line_add(csk_line_t *line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add(line, format, arguments);
    va_end(arguments);
}

int csk_output_open(csk_output_t *output, csk_print_t print, void *context) {
    *output = (csk_output_t){ .print = print, .context = context };
    return csk_symbols_open(&output->symbols);
}

int csk_output_close(csk_output_t *output) {
    csk_symbols_close(&output->symbols);
    return output->status;
}

void csk_output_put(csk_output_t *output, const csk_line_t *line) {
    if (output->status == 0 && line->length != 0)
        output->status = output->print(output->context, line->text, line->length);
}

void csk_output_putf(csk_output_t *output, const char *format, ...) {
    char text[512];
    csk_line_t line = { text, sizeof text, 0 };
    va_list arguments;
    va_start(arguments, format);
    add(&line, format, arguments);
    va_end(arguments);
    csk_output_put(output, &line);
}

/* What a frame returns to may be the next function already. */
static void put_frame(csk_output_t *output, uintptr_t frame) {
    const csk_module_t *module = csk_symbols_module(&output->symbols, frame - 1);
    const char *name = module != NULL ? csk_symbols_name(module, frame - 1) : NULL;
    unsigned long place = module != NULL ? (unsigned long)(frame - module->start + module->offset) : frame;
    char *in_source = name != NULL ? csk_symbols_name_in_source(name) : NULL;
    csk_output_putf(output, "        %.480s (", in_source != NULL ? in_source : name != NULL ? name : "?");
    csk_output_putf(output, "%.480s+0x%lx)\n", module != NULL ? module->path : "", place);
    free(in_source);
}

void csk_output_put_frames(csk_output_t *output, const uintptr_t *frames, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) put_frame(output, frames[i]);
}
