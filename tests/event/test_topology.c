// SPDX-License-Identifier: Apache-2.0
// The text of a topology: what is read from it is written again, paths follow from it, and other texts are refused.
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/topology.h"

static const char TEXT[] =
    "1\n"
    "gpu GPU0 0000:03:00.0 10de 2330 0 0 GPU-1 pci0000:00/0/0/0 0000:00:01.0/16/63000000000/63000000000 "
    "0000:03:00.0/16/31500000000/63000000000\n"
    "gpu GPU1 0000:13:00.0 10de 2330 -1 0 - pci0000:10/0/0/0 0000:13:00.0/16/0/7\n"
    "gpu GPU2 0000:23:00.0 1002 74a1 1 0 0123456789abcdef pci0000:20/0/0/0 0000:23:00.0/8/9/10\n"
    "nic mlx5_0 0000:33:00.0 15b3 1021 1 400000000000 -\n"
    "xgmi 2 1 64000000000\n";

static tsmith_topology *parse(const char *text) {
    tsmith_topology *topology;
    tsmith_error error;
    const tsmith_status status = topology_parse(text, &topology, &error);
    assert_true(status == TSMITH_OK ? topology != NULL : status == TSMITH_ERROR_CORRUPT && !topology);
    return topology;
}

static tsmith_topology_path path_of(const tsmith_topology *topology, size_t from, size_t to) {
    tsmith_topology_path path = {.size = sizeof path};
    assert_int_equal(tsmith_topology_path_get(topology, from, to, &path), 1);
    return path;
}

static void a_text_is_what_was_written(void **unused) {
    (void)unused;
    tsmith_topology *topology = parse(TEXT);
    char *text = topology_text(topology);
    assert_string_equal(text, TEXT);
    assert_int_equal(tsmith_topology_count(topology), 4);
    tsmith_topology_node node = {.size = sizeof node};
    assert_int_equal(tsmith_topology_node_get(topology, 1, &node), 1);
    assert_string_equal(node.uuid, "");
    assert_int_equal(node.numa, -1);
    assert_int_equal(path_of(topology, 2, 1).kind, TSMITH_TOPOLOGY_XGMI);
    assert_int_equal(path_of(topology, 2, 1).bytes_per_s, 64000000000);
    assert_int_equal(path_of(topology, 1, 2).kind, TSMITH_TOPOLOGY_UNKNOWN); // that link is of one direction
    free(text);
    tsmith_topology_close(topology);
}

// Only where NVSwitches are, and the model has no other board, NVLink is known; and else it is not known that there is none.
static void switches_connect_their_models(void **unused) {
    (void)unused;
    char text[sizeof TEXT + 32];
    for (unsigned count = 0; count < 3; count++) {
        (void)snprintf(text, sizeof text, "%s%s", TEXT,
                       count ? count == 1 ? "nvswitches 4\n" : "nvswitches 0\n" : "");
        tsmith_topology *topology = parse(text);
        const tsmith_topology_path path = path_of(topology, 0, 1);
        assert_int_equal(path.kind == TSMITH_TOPOLOGY_NVSWITCH, count == 1);
        assert_int_equal(topology_has_all(topology, 0, 1), count == 1);
        assert_true(topology_has_all(topology, 0, 2) && topology_has_all(topology, 0, 3));
        assert_false(topology_has_all(topology, 0, 0) || topology_has_all(topology, 0, 9));
        assert_int_equal(path.bytes_per_s, count == 1 ? 450000000000 : 0);
        tsmith_topology_close(topology);
    }
}

// What NVML has stated: links that lead to a GPU, to switches, to a device that is not known; and of GPU 2, nothing.
static const char LINKS[] = "1\n"
                            "gpu GPU0 0000:03:00.0 10de 2330 0 0 -\n"
                            "gpu GPU1 0000:13:00.0 10de 2330 0 0 -\n"
                            "gpu GPU2 0000:23:00.0 10de 2330 1 0 -\n"
                            "gpu GPU3 0000:33:00.0 10de 2330 1 0 -\n"
                            "gpu GPU4 0000:43:00.0 10de 2330 1 0 -\n"
                            "nvswitches 4\n"
                            "nvlinks 0 6 1\n"
                            "nvlinks 1 4 0\n"
                            "nvlinks_unknown 2 nvmlDeviceGetNvLinkState_of_link_0_gave_15\n"
                            "nvlinks 3 5 0\n"
                            "nvlinks 4 1 0\n"
                            "nvlink 0 0000:13:00.0 gpu 4 4 100000000000 link_speed\n"
                            "nvlink 0 0000:87:00.0 switch 2 6 53000000000 version\n"
                            "nvlink 1 0000:03:00.0 gpu 4 4 0 -\n"
                            "nvlink 3 0000:87:00.0 switch 3 6 79000000000 link_speed\n"
                            "nvlink 3 0000:88:00.0 switch 2 6 53000000000 link_speed\n"
                            "nvlink 4 - unknown 1 6 26000000000 link_speed\n";

static void links_of_nvml_are_paths(void **unused) {
    (void)unused;
    static const struct {
        size_t from, to;
        tsmith_topology_path_kind kind;
        uint32_t links;
        uint64_t rate;
        const char *source;
        bool has_all;
    } paths[] = {
        {0, 1, TSMITH_TOPOLOGY_NVLINK, 4, 0, "", true}, // one end does not state the rate
        {0, 3, TSMITH_TOPOLOGY_NVSWITCH, 2, 53000000000, "version", true},
        {1, 3, TSMITH_TOPOLOGY_SYS, 0, 0, "", true},                      // GPU 1 has no link to switches
        {1, 2, TSMITH_TOPOLOGY_SYS, 0, 0, "", true},                      // and none to GPU 2
        {0, 2, TSMITH_TOPOLOGY_NVSWITCH, 0, 450000000000, "model", true}, // as without NVML
        {4, 1, TSMITH_TOPOLOGY_SYS, 0, 0, "", true},
        {4, 0, TSMITH_TOPOLOGY_NVSWITCH, 0, 450000000000, "model", true},
    };
    tsmith_topology *topology = parse(LINKS);
    char *text = topology_text(topology);
    assert_string_equal(text, LINKS);
    free(text);
    for (size_t i = 0; i < 2 * sizeof paths / sizeof *paths; i++) {
        const size_t at = i / 2, from = i % 2 ? paths[at].from : paths[at].to,
                     to = i % 2 ? paths[at].to : paths[at].from;
        const tsmith_topology_path path = path_of(topology, from, to);
        assert_int_equal(path.kind, paths[at].kind);
        assert_int_equal(path.nvlinks, paths[at].links);
        assert_int_equal(path.bytes_per_s, paths[at].rate);
        assert_string_equal(path.source, paths[at].source);
        assert_int_equal(topology_has_all(topology, from, to), paths[at].has_all);
    }
    tsmith_topology_node node = {.size = sizeof node};
    assert_int_equal(tsmith_topology_node_get(topology, 0, &node), 1);
    assert_true(node.nvlinks == 6 && node.nvlinks_inactive == 1);
    assert_int_equal(tsmith_topology_node_get(topology, 2, &node), 1);
    assert_true(node.nvlinks == -1 && node.nvlinks_inactive == -1);
    assert_string_equal(node.nvlinks_why, "nvmlDeviceGetNvLinkState of link 0 gave 15");
    tsmith_topology_nvlink link = {.size = sizeof link};
    assert_int_equal(tsmith_topology_nvlink_get(topology, 1, &link), 1);
    assert_true(link.from == 0 && link.end == TSMITH_TOPOLOGY_END_SWITCH && link.links == 2);
    assert_string_equal(link.remote, "0000:87:00.0");
    assert_string_equal(link.version, "4.0");
    assert_int_equal(tsmith_topology_nvlink_get(topology, 6, &link), 0);
    tsmith_topology_close(topology);
}

// Without switches on PCI nothing stands in for what NVML does not state.
static void unknown_links_are_not_none(void **unused) {
    (void)unused;
    char text[sizeof LINKS];
    memcpy(text, LINKS, sizeof text);
    char *line = strstr(text, "nvswitches 4");
    assert_non_null(line);
    line[11] = '0';
    tsmith_topology *topology = parse(text);
    assert_int_equal(path_of(topology, 0, 2).kind, TSMITH_TOPOLOGY_SYS);
    assert_false(topology_has_all(topology, 0, 2)); // GPU 2 may have links to switches too
    assert_false(topology_has_all(topology, 4, 0));
    assert_false(topology_has_all(topology, 2, 4));
    assert_true(topology_has_all(topology, 1, 2));
    tsmith_topology_close(topology);
}

static void a_device_is_found_by_its_identity(void **unused) {
    (void)unused;
    tsmith_topology *topology = parse(TEXT);
    assert_int_equal(topology_find(topology, "pci:0000:13:00.0"), 1);
    assert_int_equal(topology_find(topology, "PCI-0000:23:00.0"), 2);
    assert_int_equal(topology_find(topology, "GPU-1"), 0);
    assert_int_equal(topology_find(topology, "GPU-0123456789abcdef"), 2);
    assert_int_equal(topology_find(topology, "GPU-30313233343536373839616263646566"), 2);
    assert_int_equal(topology_find(topology, "GPU-30313233-3435-3637-3839-616263646566"), 2);
    static const char *const unknown[] = {"",     "GPU-2", "pci:",           "pci:0000:33:00.0",
                                          "GPU-", "-",     "0123456789abcde"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_int_equal(topology_find(topology, unknown[i]), 4);
    assert_int_equal(topology_most(topology, 1, 2), 7);
    assert_int_equal(topology_most(topology, 0, 2), 10);
    assert_int_equal(path_of(topology, 0, 2).bytes_per_s, 9);
    tsmith_topology_close(topology);
}

// So many nodes and links are read, and one more is refused: the time to look up all paths is bounded.
static void refuse_more_than(size_t nodes, size_t links) {
    for (size_t more = 0; more < 2; more++) {
        char *text;
        size_t size;
        FILE *file = open_memstream(&text, &size);
        assert_non_null(file);
        fputs("1\n", file);
        for (size_t i = 0; i < nodes + (links ? 0 : more); i++)
            fputs("gpu G 0 10de 1 0 0 -\n", file);
        for (size_t i = 0; links && i < links + more; i++)
            fputs("xgmi 0 1 5\n", file);
        assert_int_equal(fclose(file), 0);
        tsmith_topology *topology = parse(text);
        assert_int_equal(topology != NULL, !more);
        tsmith_topology_close(topology);
        free(text);
    }
}

static void other_texts_are_refused(void **unused) {
    (void)unused;
    static const char *const refused[] = {"",
                                          "1",
                                          "2\n",
                                          "1\ngpu",
                                          "1\ngpu a b c\n",
                                          "1\nxgmi 0 0 1\n",
                                          "1\nother 1\n",
                                          "1\ngpu G 0 10de 1 99999999999 0 -\n",
                                          "1\ngpu G 0 10de 1 0 0 - a/b/c/d\n",
                                          "1\nnvswitches -1\n",
                                          "1\nnvlinks 0 1 0\n",
                                          "1\ngpu G 0 10de 1 0 0 -\nnvlinks 0 1\n",
                                          "1\ngpu G 0 10de 1 0 0 -\nnvlinks 0 1 9999999\n",
                                          "1\ngpu G 0 10de 1 0 0 -\nnvlinks_unknown 0\n",
                                          "1\ngpu G 0 10de 1 0 0 -\nnvlink 0 a gpu 0 1 1 -\n",
                                          "1\ngpu G 0 10de 1 0 0 -\nnvlink 0 a cpu 1 1 1 -\n",
                                          "1\ngpu G 0 10de 1 0 0 -\nnvlink 0 a gpu 1 1 1 x\n",
                                          ("1\ngpu G 0 10de 1 0 0 -\ngpu G 0 10de 1 0 0 -\n"
                                           "nvlink 1 a gpu 1 1 1 -\nnvlink 0 a gpu 1 1 1 -\n"),
                                          "1\nnic N 0 10de 1 0 0 -\nnvlink 0 a gpu 1 1 1 -\n"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_null(parse(refused[i]));
    refuse_more_than(TOPOLOGY_NODES_MOST, 0);
    refuse_more_than(2, TOPOLOGY_LINKS_MOST);
    struct random random = {11};
    for (int i = 0; i < 20000; i++) {
        char text[sizeof LINKS > sizeof TEXT ? sizeof LINKS : sizeof TEXT] = "";
        memcpy(text, i % 2 ? LINKS : TEXT, i % 2 ? sizeof LINKS : sizeof TEXT);
        for (uint64_t k = 1 + random_below(&random, 4); k; k--)
            text[random_below(&random, strlen(text))] = "\n -/019gnx\t\xff"[random_below(&random, 12)];
        if (random_below(&random, 2))
            text[random_below(&random, sizeof text)] = '\0';
        tsmith_topology *topology = parse(text);
        for (size_t k = 0; topology && k < tsmith_topology_count(topology); k++)
            (void)topology_has_all(topology, k, 0);
        tsmith_topology_close(topology);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_what_was_written),        cmocka_unit_test(switches_connect_their_models),
        cmocka_unit_test(links_of_nvml_are_paths),           cmocka_unit_test(unknown_links_are_not_none),
        cmocka_unit_test(a_device_is_found_by_its_identity), cmocka_unit_test(other_texts_are_refused),
    };
    return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
