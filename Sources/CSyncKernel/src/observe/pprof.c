/* pprof.c: a profile as profile.proto of pprof (github.com/google/pprof/blob/main/proto/profile.proto), in the encoding
 * of Protocol Buffers, within gzip by stored blocks (RFC 1951 and 1952): it is small, and needs no compressor. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "observe/places.h"

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */

typedef struct {
    unsigned char *bytes;
    size_t size, room;
    bool failed; /* there was no memory; what follows is dropped */
} buffer_t;

static void append(buffer_t *buffer, const void *bytes, size_t size) {
    if (buffer->room - buffer->size < size && !buffer->failed) {
        size_t room = 2 * buffer->room + size + 256;
        unsigned char *larger = realloc(buffer->bytes, room);
        buffer->failed = larger == NULL;
        if (larger != NULL) buffer->bytes = larger, buffer->room = room;
    }
    if (buffer->failed || size == 0) return;
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
}
static void append_byte(buffer_t *buffer, unsigned value) {
    unsigned char byte = (unsigned char)value;
    append(buffer, &byte, 1);
}

/* ---- Protocol Buffers -------------------------------------------------------------------------------------------- */

enum { WIRE_NUMBER = 0, WIRE_BYTES = 2 };

static void append_varint(buffer_t *buffer, uint64_t value) {
    for (; value >= 128; value >>= 7) append_byte(buffer, (unsigned)(value & 127) | 128);
    append_byte(buffer, (unsigned)value);
}
static void put_number(buffer_t *buffer, unsigned field, uint64_t value) {
    if (value == 0) return; /* the default */
    append_varint(buffer, field << 3 | WIRE_NUMBER);
    append_varint(buffer, value);
}
static void put_bytes(buffer_t *buffer, unsigned field, const void *bytes, size_t size) {
    append_varint(buffer, field << 3 | WIRE_BYTES);
    append_varint(buffer, size);
    append(buffer, bytes, size);
}
/* Moves a message into another one, and empties it for the next. */
static void put_message(buffer_t *buffer, unsigned field, buffer_t *message) {
    put_bytes(buffer, field, message->bytes, message->size);
    buffer->failed = buffer->failed || message->failed;
    message->size = 0;
}

/* ---- The messages ------------------------------------------------------------------------------------------------ */

/* The fields of profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING };
enum { PROFILE_DURATION = 10, PROFILE_DEFAULT_TYPE = 14 };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_FILE, MAPPING_BUILD_ID, MAPPING_NAMED };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1 };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_LINKED };

typedef struct {
    buffer_t all, message, part;
    uint64_t strings;
} writer_t;

/* Each text is a string of its own: a table that finds doubles would save little. */
static uint64_t add_text(writer_t *writer, const char *text) {
    put_bytes(&writer->all, PROFILE_STRING, text, strlen(text));
    return writer->strings++;
}

static void add_type(writer_t *writer, uint64_t type, uint64_t unit) {
    put_number(&writer->message, TYPE_TYPE, type);
    put_number(&writer->message, TYPE_UNIT, unit);
    put_message(&writer->all, PROFILE_SAMPLE_TYPE, &writer->message);
}

static void add_mappings(writer_t *writer, const csk_symbols_t *symbols) {
    for (size_t i = 0; i < symbols->module_count; i++) {
        const csk_module_t *module = &symbols->modules[i];
        uint64_t path = add_text(writer, module->path), build_id = add_text(writer, module->build_id);
        put_number(&writer->message, MAPPING_ID, i + 1);
        put_number(&writer->message, MAPPING_START, module->start);
        put_number(&writer->message, MAPPING_LIMIT, module->limit);
        put_number(&writer->message, MAPPING_OFFSET, module->offset);
        put_number(&writer->message, MAPPING_FILE, path);
        put_number(&writer->message, MAPPING_BUILD_ID, build_id);
        put_number(&writer->message, MAPPING_NAMED, 1);
        put_message(&writer->all, PROFILE_MAPPING, &writer->message);
    }
}

/* A function for each place, since a place has one function. */
static void add_places(writer_t *writer, const csk_places_t *places) {
    for (size_t i = 0; i < places->count; i++) {
        const csk_place_t *place = &places->places[i];
        if (place->linked != NULL) {
            uint64_t linked = add_text(writer, place->linked);
            uint64_t name = place->name != NULL ? add_text(writer, place->name) : linked;
            put_number(&writer->message, FUNCTION_ID, i + 1);
            put_number(&writer->message, FUNCTION_NAME, name);
            put_number(&writer->message, FUNCTION_LINKED, linked);
            put_message(&writer->all, PROFILE_FUNCTION, &writer->message);
            put_number(&writer->part, LINE_FUNCTION, i + 1);
        }
        put_number(&writer->message, LOCATION_ID, i + 1);
        if (place->module != NULL)
            put_number(&writer->message, LOCATION_MAPPING, (uint64_t)(place->module - places->symbols.modules) + 1);
        put_number(&writer->message, LOCATION_ADDRESS, place->address);
        if (place->linked != NULL) put_message(&writer->message, LOCATION_LINE, &writer->part);
        put_message(&writer->all, PROFILE_LOCATION, &writer->message);
    }
}

enum { TEXT_CONTENTIONS = 1, TEXT_COUNT, TEXT_DELAY, TEXT_NANOSECONDS, TEXT_PRIORITY, TEXT_WAITER, TEXT_THREAD };
enum { TEXT_CALLBACK = TEXT_THREAD + 1, TEXT_NAME };
static const char *const texts[] = { "",         "contentions", "count",  "delay",    "nanoseconds",
                                     "priority", "waiter",      "thread", "callback", "name" };

static void add_sample(writer_t *writer, const csk_places_t *places, const csk_profile_entry_t *entry) {
    for (uint32_t i = 0; i < entry->depth; i++)
        append_varint(&writer->part, csk_places_of(places, entry->frames[i]) + 1);
    put_message(&writer->message, SAMPLE_LOCATIONS, &writer->part);
    append_varint(&writer->part, (uint64_t)(entry->contentions + 0.5));
    append_varint(&writer->part, (uint64_t)entry->delay_ns);
    put_message(&writer->message, SAMPLE_VALUES, &writer->part);
    put_number(&writer->part, LABEL_KEY, TEXT_PRIORITY);
    put_number(&writer->part, LABEL_NUMBER, (uint64_t)(int64_t)entry->priority);
    put_message(&writer->message, SAMPLE_LABEL, &writer->part);
    put_number(&writer->part, LABEL_KEY, TEXT_WAITER);
    put_number(&writer->part, LABEL_TEXT, entry->waiter == CSK_PROFILE_THREAD ? TEXT_THREAD : TEXT_CALLBACK);
    put_message(&writer->message, SAMPLE_LABEL, &writer->part);
    if (entry->name != NULL) {
        put_number(&writer->part, LABEL_KEY, TEXT_NAME);
        put_number(&writer->part, LABEL_TEXT, add_text(writer, entry->name));
        put_message(&writer->message, SAMPLE_LABEL, &writer->part);
    }
    put_message(&writer->all, PROFILE_SAMPLE, &writer->message);
}

/* ---- gzip -------------------------------------------------------------------------------------------------------- */

static uint32_t checksum(const unsigned char *bytes, size_t size) {
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) sum = (sum >> 1) ^ (sum & 1 ? UINT32_C(0xEDB88320) : 0);
    }
    return ~sum;
}

static void put_little_endian(unsigned char *bytes, uint32_t value) {
    for (int i = 0; i < 4; i++) bytes[i] = (unsigned char)(value >> (8 * i));
}

static int print_gzip(const buffer_t *buffer, csk_print_t print, void *context) {
    static const unsigned char head[] = { 0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255 };
    enum { BLOCK = 65535 };
    int status = print(context, head, sizeof head);
    for (size_t at = 0; status == 0 && at < buffer->size; at += BLOCK) {
        size_t size = buffer->size - at < BLOCK ? buffer->size - at : BLOCK;
        unsigned char block[5] = { at + size == buffer->size };
        put_little_endian(block + 1, (uint32_t)size | ~(uint32_t)size << 16);
        status = print(context, block, sizeof block);
        if (status == 0) status = print(context, buffer->bytes + at, size);
    }
    unsigned char tail[8];
    put_little_endian(tail, checksum(buffer->bytes, buffer->size));
    put_little_endian(tail + 4, (uint32_t)buffer->size);
    return status == 0 ? print(context, tail, sizeof tail) : status;
}

int csk_profile_print_pprof(const csk_profile_entry_t *entries, size_t count, uint32_t side, int64_t span_ns,
                            csk_print_t print, void *context) {
    csk_places_t places;
    int status = csk_places_open(&places, entries, count, side);
    if (status != 0) return status;
    writer_t writer = { 0 };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) add_text(&writer, texts[i]);
    add_type(&writer, TEXT_CONTENTIONS, TEXT_COUNT);
    add_type(&writer, TEXT_DELAY, TEXT_NANOSECONDS);
    put_number(&writer.all, PROFILE_DEFAULT_TYPE, TEXT_DELAY);
    put_number(&writer.all, PROFILE_DURATION, (uint64_t)span_ns);
    add_mappings(&writer, &places.symbols);
    add_places(&writer, &places);
    for (size_t i = 0; i < count; i++)
        if (entries[i].side == side) add_sample(&writer, &places, &entries[i]);
    status = writer.all.failed ? ENOMEM : print_gzip(&writer.all, print, context);
    free(writer.all.bytes);
    free(writer.message.bytes);
    free(writer.part.bytes);
    csk_places_close(&places);
    return status;
}
