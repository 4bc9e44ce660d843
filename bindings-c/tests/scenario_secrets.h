/* The scenario actor's own encryption: the bytes of a text in the opposite order, as in the actors of all bindings. */
#ifndef STACKWRIGHT_SCENARIO_SECRETS_H
#define STACKWRIGHT_SCENARIO_SECRETS_H

#include "scenario_lines.h"

/* Completes with the texts of the JSON array at a pointer, each reversed. Encryption and decryption are the same function. */
static void complete_reversed(sw_bytes_view_t request, const char *array, sw_completion_t *completion)
{
    char *list = format("%s", "");
    for (int index = 0;; index++) {
        char *pointer = format("%s/%d", array, index);
        sw_bytes_t *text = text_at(request, pointer), *quoted = NULL;
        free(pointer);
        if (!text)
            break;
        size_t length = sw_bytes_length(text);
        char *reversed = malloc(length + 1);
        for (size_t at = 0; at < length; at++)
            reversed[at] = sw_bytes_data(text)[length - 1 - at];
        sw_json_quote((sw_bytes_view_t){reversed, length}, &quoted, NULL);
        char *longer = format("%s%s%s", list, index > 0 ? ", " : "", or_else(quoted, "null"));
        free(list), free(reversed), sw_bytes_free(text), sw_bytes_free(quoted);
        list = longer;
    }
    char *answer = format("[%s]", list);
    sw_completion_succeed(completion, sw_text(answer));
    free(list), free(answer);
}

static void reverse(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)user_data;
    complete_reversed(request, "", completion);
}

static void reverse_for_stack(void *user_data, sw_bytes_view_t request, sw_completion_t *completion)
{
    (void)user_data;
    complete_reversed(request, "/texts", completion);
}

#endif
