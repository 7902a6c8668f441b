// SPDX-License-Identifier: Apache-2.0
// HTTP by libmicrohttpd, and who may ask.
//
// A browser on the same machine runs pages of strangers, which can send requests to any port of it, and other users of the machine
// can connect to it as well. So:
//   - a token of 128 bits is needed. It is printed as the fragment of the URL, which browsers send to no server; the page exchanges
//     it once for a cookie that scripts cannot read and that no other site's page is sent with (HttpOnly, SameSite=Strict);
//   - Host must be this server's own address: a name that an attacker lets point here (DNS rebinding) is refused;
//   - Origin and Sec-Fetch-Site, where a browser sends them, must be those of the page itself;
//   - the page loads nothing from elsewhere, may not be framed, and has no script or style of its own inside (CSP);
//   - requests are small, connections few, and idle ones are closed.
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "cli/present/terminal.h"
#include "cli/studio/server.h"

#ifndef MHD_HTTP_CONTENT_TOO_LARGE // libmicrohttpd before 0.9.74
#define MHD_HTTP_CONTENT_TOO_LARGE 413
#endif

enum {
    TOKEN_BYTES = 16,
    TOKEN_TEXT = 2 * TOKEN_BYTES,
    BODY_MOST = 64 << 10,
    CONNECTIONS_MOST = 64,
    IDLE_SECONDS = 20,
    CONNECTION_MEMORY = 32 << 10,
    THREAD_STACK = 1 << 20,
    PARAMETERS_MOST = 64
};

struct http {
    struct server *server;
    struct MHD_Daemon *daemon;
    uint16_t port;
    char token[TOKEN_TEXT + 1], cookie[32];
    char host[96], local_host[96]; // what Host may be
    char url[256];
};

// A request while it is read.
struct incoming {
    char *body;
    size_t length;
    bool is_too_long;
};

// ---- answers

static const char *const HEADERS[][2] = {
    {"Content-Security-Policy",
     "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"}};

static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status, const char *type,
                                     struct MHD_Response *response) {
    if (!response)
        return MHD_NO;
    for (size_t i = 0; i < sizeof HEADERS / sizeof *HEADERS; i++)
        if (!MHD_get_response_header(response, HEADERS[i][0]))
            (void)MHD_add_response_header(response, HEADERS[i][0], HEADERS[i][1]);
    if (type)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    const enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

// For bytes that stay; the library does not change them, in spite of its parameter's type.
static struct MHD_Response *constant_response(const char *bytes, size_t length) {
    return MHD_create_response_from_buffer(length, (void *)(uintptr_t)bytes, MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result send_refusal(struct MHD_Connection *connection, unsigned status, const char *why) {
    return send_response(connection, status, "text/plain; charset=utf-8",
                         constant_response(why, strlen(why)));
}

// ---- who asks

static const char *header(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

// In constant time.
static bool is_token(const struct http *http, const char *text, size_t length) {
    unsigned char difference = length != TOKEN_TEXT;
    for (size_t i = 0; i < TOKEN_TEXT; i++)
        difference |= (unsigned char)(http->token[i] ^ (i < length ? text[i] : 0));
    return difference == 0;
}

// A page of another site, or a name that is not this server's.
static const char *why_foreign(const struct http *http, struct MHD_Connection *connection) {
    const char *host = header(connection, MHD_HTTP_HEADER_HOST);
    const char *origin = header(connection, MHD_HTTP_HEADER_ORIGIN);
    const char *site = header(connection, "Sec-Fetch-Site");
    if (!host || (strcmp(host, http->host) != 0 && strcmp(host, http->local_host) != 0))
        return "The request is for another host.\n";
    if (origin && (strncmp(origin, "http://", 7) != 0 || strcmp(origin + 7, host) != 0))
        return "The request comes from a page of another site.\n";
    if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return "The request comes from a page of another site.\n";
    return NULL;
}

static bool has_cookie(const struct http *http, struct MHD_Connection *connection) {
    const char *cookie = MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, http->cookie);
    return cookie && is_token(http, cookie, strlen(cookie));
}

// ---- requests

static const char *parameter(const struct request *request, const char *name) {
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

struct nth {
    size_t left;
    bool found;
    const char **name, **value;
};

static enum MHD_Result take_nth(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
    struct nth *nth = context;
    (void)kind;
    if (nth->left--)
        return MHD_YES;
    *nth->name = name;
    *nth->value = value;
    nth->found = true;
    return MHD_NO;
}

static bool parameter_at(const struct request *request, size_t index, const char **name, const char **value) {
    struct nth nth = {index, false, name, value};
    if (index < PARAMETERS_MOST)
        (void)MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, take_nth, &nth);
    return nth.found;
}

static struct MHD_Response *api_response(struct http *http, struct MHD_Connection *connection,
                                         const char *method, const char *path,
                                         const struct incoming *incoming, struct answer *answer) {
    const struct request request = {.method = method,
                                    .path = path,
                                    .parameter = parameter,
                                    .parameter_at = parameter_at,
                                    .connection = connection,
                                    .body = incoming->body ? incoming->body : "",
                                    .body_length = incoming->length};
    *answer = (struct answer){.text = {0}};
    answer_request(http->server, &request, answer);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(answer->text.length, answer->text.bytes, MHD_RESPMEM_MUST_COPY);
    text_finish(&answer->text);
    return response;
}

static enum MHD_Result answer_api(struct http *http, struct MHD_Connection *connection, const char *method,
                                  const char *path, const struct incoming *incoming) {
    struct answer answer;
    struct MHD_Response *response = api_response(http, connection, method, path, incoming, &answer);
    return send_response(connection, (unsigned)answer.status, answer.type, response);
}

// The cookie for the token; with parameters of /api/traces the answer to that too, so that the page has all at once.
static enum MHD_Result enter(struct http *http, struct MHD_Connection *connection,
                             const struct incoming *incoming) {
    static const struct incoming NOTHING = {.body = NULL};
    char cookie[160];
    struct answer answer = {.status = MHD_HTTP_NO_CONTENT};
    if (!is_token(http, incoming->body ? incoming->body : "", incoming->length))
        return send_refusal(connection, MHD_HTTP_FORBIDDEN,
                            "The token is not the one that the command printed.\n");
    snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", http->cookie, http->token);
    const bool is_asked = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "overview") != NULL;
    struct MHD_Response *response =
        is_asked ? api_response(http, connection, MHD_HTTP_METHOD_GET, "/api/traces", &NOTHING, &answer)
                 : constant_response("", 0);
    if (response)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_SET_COOKIE, cookie);
    return send_response(connection, (unsigned)answer.status, answer.type, response);
}

static enum MHD_Result answer_page(struct MHD_Connection *connection, const char *path) {
    struct page_part part;
    if (!page_find(path, &part))
        return send_refusal(connection, MHD_HTTP_NOT_FOUND, "This page does not exist.\n");
    struct MHD_Response *response = constant_response(part.bytes, part.length);
    // Browsers ask for the icon again whenever the address changes.
    if (response && strncmp(part.type, "image/", 6) == 0)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "private, max-age=3600");
    return send_response(connection, MHD_HTTP_OK, part.type, response);
}

static enum MHD_Result answer_whole(struct http *http, struct MHD_Connection *connection, const char *path,
                                    const char *method, const struct incoming *incoming) {
    const bool is_get = strcmp(method, MHD_HTTP_METHOD_GET) == 0;
    const char *why = why_foreign(http, connection);
    if (why)
        return send_refusal(connection, MHD_HTTP_FORBIDDEN, why);
    if (!is_get && strcmp(method, MHD_HTTP_METHOD_POST) != 0)
        return send_refusal(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and POST are supported.\n");
    if (incoming->is_too_long)
        return send_refusal(connection, MHD_HTTP_CONTENT_TOO_LARGE, "The request is too long.\n");
    if (strcmp(path, "/api/enter") == 0 && !is_get)
        return enter(http, connection, incoming);
    if (strncmp(path, "/api/", 5) != 0)
        return is_get ? answer_page(connection, path)
                      : send_refusal(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Pages support only GET.\n");
    if (!has_cookie(http, connection))
        return send_refusal(connection, MHD_HTTP_FORBIDDEN,
                            "Open the address that the command printed; it contains the token.\n");
    return answer_api(http, connection, method, path, incoming);
}

static void take_body(struct incoming *incoming, const char *bytes, size_t length) {
    char *grown =
        incoming->length + length > BODY_MOST ? NULL : realloc(incoming->body, incoming->length + length);
    if (!grown) {
        incoming->is_too_long = true;
        return;
    }
    memcpy(grown + incoming->length, bytes, length);
    incoming->body = grown;
    incoming->length += length;
}

static enum MHD_Result handle_request(void *context, struct MHD_Connection *connection, const char *path,
                                      const char *method, const char *version, const char *bytes,
                                      size_t *length, void **kept) {
    (void)version;
    if (!*kept) { // the headers are there
        *kept = calloc(1, sizeof(struct incoming));
        return *kept ? MHD_YES : MHD_NO;
    }
    if (*length) {
        take_body(*kept, bytes, *length);
        *length = 0;
        return MHD_YES;
    }
    return answer_whole(context, connection, path, method, *kept);
}

static void free_request(void *context, struct MHD_Connection *connection, void **kept,
                         enum MHD_RequestTerminationCode code) {
    struct incoming *incoming = *kept;
    (void)context;
    (void)connection;
    (void)code;
    if (incoming)
        free(incoming->body);
    free(incoming);
    *kept = NULL;
}

// ---- the server

static bool make_token(struct http *http) {
    unsigned char bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(http->token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool listen_at(struct http *http, const struct http_options *options) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(options->port)};
    if (inet_pton(AF_INET, options->address, &address.sin_addr) != 1) {
        complain("--listen: '%s' is not an IPv4 address", options->address);
        return false;
    }
    http->daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, options->port, NULL, NULL,
        handle_request, http, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS_MOST, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_THREAD_STACK_SIZE,
        (size_t)THREAD_STACK, MHD_OPTION_NOTIFY_COMPLETED, free_request, NULL, MHD_OPTION_STRICT_FOR_CLIENT,
        1, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        http->daemon ? MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
    if (!info) {
        complain("cannot listen on %s port %u", options->address, options->port);
        return false;
    }
    http->port = info->port;
    return true;
}

struct http *http_begin(struct server *server, const struct http_options *options) {
    struct http *http = calloc(1, sizeof *http);
    if (http)
        http->server = server;
    if (!http || !make_token(http) || !listen_at(http, options)) {
        http_end(http);
        return NULL;
    }
    // Cookies are shared by all ports of a host: the name distinguishes servers.
    snprintf(http->cookie, sizeof http->cookie, "tracesmith-%u", http->port);
    const bool is_any = strcmp(options->address, "0.0.0.0") == 0;
    const char *shown = is_any ? "127.0.0.1" : options->address;
    snprintf(http->host, sizeof http->host, "%s:%u", shown, http->port);
    snprintf(http->local_host, sizeof http->local_host, "localhost:%u", http->port);
    snprintf(http->url, sizeof http->url, "http://%s/#token=%s", http->host, http->token);
    return http;
}

const char *http_url(const struct http *http) {
    return http->url;
}

uint16_t http_port(const struct http *http) {
    return http->port;
}

void http_end(struct http *http) {
    if (http && http->daemon)
        MHD_stop_daemon(http->daemon);
    free(http);
}
