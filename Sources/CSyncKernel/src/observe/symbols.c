/* symbols.c: reads /proc/self/maps, and the symbol tables of ELF files: .symtab, or .dynsym where a file was stripped
 * of it. A file is untrusted: whatever it says is compared with its size. */
#include "observe/symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    uint64_t address, size;
    const char *name;
} function_t;

typedef struct csk_module_file {
    const unsigned char *bytes;
    size_t size;
    const Elf64_Phdr *segments;
    size_t segment_count;
    function_t *functions; /* by address */
    size_t function_count;
} file_t;

/* ---- A file ------------------------------------------------------------------------------------------------------ */

static bool holds(const file_t *file, uint64_t offset, uint64_t size) {
    return offset <= file->size && size <= file->size - offset;
}

static int compare_functions(const void *a, const void *b) {
    const function_t *left = a, *right = b;
    return left->address < right->address ? -1 : left->address > right->address;
}

static void read_functions(file_t *file, const Elf64_Shdr *sections, size_t count, const Elf64_Shdr *table) {
    if (table->sh_link >= count || table->sh_entsize != sizeof(Elf64_Sym)) return;
    const Elf64_Shdr *strings = &sections[table->sh_link];
    if (!holds(file, table->sh_offset, table->sh_size) || !holds(file, strings->sh_offset, strings->sh_size)) return;
    if (strings->sh_size == 0 || file->bytes[strings->sh_offset + strings->sh_size - 1] != 0) return;
    size_t symbols = table->sh_size / sizeof(Elf64_Sym);
    file->functions = malloc((symbols + 1) * sizeof *file->functions);
    if (file->functions == NULL) return;
    for (size_t i = 0; i < symbols; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, file->bytes + table->sh_offset + i * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == 0 || symbol.st_name >= strings->sh_size)
            continue;
        file->functions[file->function_count++] = (function_t){
            .address = symbol.st_value,
            .size = symbol.st_size,
            .name = (const char *)file->bytes + strings->sh_offset + symbol.st_name,
        };
    }
    qsort(file->functions, file->function_count, sizeof *file->functions, compare_functions);
}

static void read_sections(file_t *file, const Elf64_Ehdr *header) {
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff % 8 != 0 ||
        !holds(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
        return;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(file->bytes + header->e_shoff);
    const uint32_t kinds[] = { SHT_SYMTAB, SHT_DYNSYM };
    for (size_t kind = 0; kind < 2 && file->function_count == 0; kind++)
        for (size_t i = 0; i < header->e_shnum && file->functions == NULL; i++)
            if (sections[i].sh_type == kinds[kind]) read_functions(file, sections, header->e_shnum, &sections[i]);
}

static void read_elf(file_t *file) {
    Elf64_Ehdr header;
    if (file->size < sizeof header) return;
    memcpy(&header, file->bytes, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return;
    if (header.e_phentsize == sizeof(Elf64_Phdr) && header.e_phoff % 8 == 0 &&
        holds(file, header.e_phoff, (uint64_t)header.e_phnum * sizeof(Elf64_Phdr))) {
        file->segments = (const Elf64_Phdr *)(const void *)(file->bytes + header.e_phoff);
        file->segment_count = header.e_phnum;
    }
    read_sections(file, &header);
}

static file_t *open_file(const char *path) {
    file_t *file = calloc(1, sizeof *file);
    if (file == NULL) return NULL;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (bytes != MAP_FAILED) {
            file->bytes = bytes;
            file->size = (size_t)status.st_size;
            read_elf(file);
        }
    }
    if (descriptor >= 0) close(descriptor);
    return file;
}

static void close_file(file_t *file) {
    if (file->bytes != NULL) munmap((void *)(uintptr_t)file->bytes, file->size);
    free(file->functions);
    free(file);
}

/* The id is a note of the linker. */
static void read_build_id(const file_t *file, char *text, size_t size) {
    for (size_t i = 0; i < file->segment_count; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type != PT_NOTE || !holds(file, segment->p_offset, segment->p_filesz)) continue;
        for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= segment->p_filesz;) {
            Elf64_Nhdr note;
            const unsigned char *bytes = file->bytes + segment->p_offset + at;
            memcpy(&note, bytes, sizeof note);
            uint64_t name = (note.n_namesz + UINT64_C(3)) & ~UINT64_C(3);
            uint64_t all = sizeof note + name + ((note.n_descsz + UINT64_C(3)) & ~UINT64_C(3));
            if (all > segment->p_filesz - at) break;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(bytes + sizeof note, "GNU", 4) == 0) {
                for (size_t byte = 0; byte < note.n_descsz && 2 * byte + 2 < size; byte++)
                    snprintf(text + 2 * byte, 3, "%02x", bytes[sizeof note + name + byte]);
                return;
            }
            at += all;
        }
    }
}

/* ---- What is mapped ---------------------------------------------------------------------------------------------- */

static char *read_all(const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    size_t size = 0, room = 65536;
    char *text = malloc(room);
    for (ssize_t got; text != NULL && descriptor >= 0; size += (size_t)got) {
        if (room - size < 4096) {
            char *larger = realloc(text, room *= 2);
            if (larger == NULL) free(text);
            text = larger;
            if (text == NULL) break;
        }
        got = read(descriptor, text + size, room - size - 1);
        if (got <= 0) break;
    }
    if (descriptor >= 0) close(descriptor);
    if (text != NULL) text[size] = 0;
    return text;
}

/* A line, such as "7f00-7f10 r-xp 00001000 08:01 1234    /usr/lib/libc.so.6". The path ends with the line. */
static bool read_line(char *line, csk_module_t *module) {
    unsigned long start, limit, offset;
    char rights[5];
    int path = 0;
    if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &start, &limit, rights, &offset, &path) != 4) return false;
    if (rights[2] != 'x' || path == 0 || line[path] != '/') return false;
    *module = (csk_module_t){ .start = start, .limit = limit, .offset = offset, .path = line + path };
    return true;
}

int csk_symbols_open(csk_symbols_t *symbols) {
    *symbols = (csk_symbols_t){ .maps = read_all("/proc/self/maps") };
    if (symbols->maps == NULL) return ENOMEM;
    size_t lines = 0;
    for (const char *at = symbols->maps; *at != 0; at++) lines += *at == '\n';
    symbols->modules = calloc(lines + 1, sizeof *symbols->modules);
    int status = symbols->modules != NULL ? 0 : ENOMEM;
    char *rest = NULL;
    for (char *line = strtok_r(symbols->maps, "\n", &rest); line != NULL && status == 0;
         line = strtok_r(NULL, "\n", &rest)) {
        csk_module_t *module = &symbols->modules[symbols->module_count];
        if (!read_line(line, module)) continue;
        for (size_t i = 0; i < symbols->module_count && module->file == NULL; i++)
            if (strcmp(symbols->modules[i].path, module->path) == 0) module->file = symbols->modules[i].file;
        if (module->file == NULL) module->file = open_file(module->path);
        if (module->file == NULL) status = ENOMEM;
        else {
            read_build_id(module->file, module->build_id, sizeof module->build_id);
            symbols->module_count++;
        }
    }
    if (status != 0) csk_symbols_close(symbols);
    return status;
}

void csk_symbols_close(csk_symbols_t *symbols) {
    for (size_t i = 0; i < symbols->module_count; i++) {
        bool is_last = true;
        for (size_t j = i + 1; j < symbols->module_count; j++)
            is_last = is_last && symbols->modules[j].file != symbols->modules[i].file;
        if (is_last) close_file(symbols->modules[i].file);
    }
    free(symbols->modules);
    free(symbols->maps);
    *symbols = (csk_symbols_t){ 0 };
}

const csk_module_t *csk_symbols_module(const csk_symbols_t *symbols, uintptr_t address) {
    for (size_t i = 0; i < symbols->module_count; i++)
        if (address >= symbols->modules[i].start && address < symbols->modules[i].limit) return &symbols->modules[i];
    return NULL;
}

const char *csk_symbols_name(const csk_module_t *module, uintptr_t address) {
    const file_t *file = module->file;
    uint64_t offset = address - module->start + module->offset, linked = 0;
    for (size_t i = 0; i < file->segment_count && linked == 0; i++) {
        const Elf64_Phdr *segment = &file->segments[i];
        if (segment->p_type == PT_LOAD && offset >= segment->p_offset && offset - segment->p_offset < segment->p_filesz)
            linked = offset - segment->p_offset + segment->p_vaddr;
    }
    size_t low = 0, high = file->function_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (file->functions[middle].address <= linked) low = middle + 1;
        else high = middle;
    }
    if (low == 0 || linked == 0) return NULL;
    const function_t *found = &file->functions[low - 1];
    return found->size == 0 || linked - found->address < found->size ? found->name : NULL;
}

/* ---- Names of the source ----------------------------------------------------------------------------------------- */

/* The Swift runtime's, in programs that have it. What it returns is freed by free(). */
extern char *swift_demangle(const char *name, size_t length, char *buffer, size_t *size, uint32_t flags)
    __attribute__((weak));

char *csk_symbols_name_in_source(const char *linked) {
    bool is_swift = strncmp(linked, "$s", 2) == 0 || strncmp(linked, "$S", 2) == 0;
    return is_swift && swift_demangle != NULL ? swift_demangle(linked, strlen(linked), NULL, NULL, 0) : NULL;
}
