package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// pendingDump is a cluster with a pending pod and an unreachable node.
const pendingDump = drainDump + `---
apiVersion: v1
kind: Node
metadata: {name: n3, labels: {topology.kubernetes.io/region: r, topology.kubernetes.io/zone: a}}
status: {allocatable: {cpu: "1", memory: 8Gi, pods: "110"}, conditions: [{type: Ready, status: "Unknown", lastTransitionTime: "2026-01-02T03:04:05Z"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: big, namespace: shop, uid: c}
spec: {schedulerName: gpu-scheduler, containers: [{name: main, image: web, resources: {requests: {cpu: "64"}}}]}
`

// TestOutputFormats checks the accepted values of --output and their output.
func TestOutputFormats(t *testing.T) {
	file := writeFile(t, "dump.yaml", pendingDump)
	for args, want := range map[string]string{
		"queue -f FILE -o name":                           "pod/big\n",
		"queue -f FILE -o wide":                           "gpu-scheduler",
		"queue -f FILE -n shop -o name":                   "pod/big\n",
		"queue -f FILE -n default -o json":                `"pods": []`,
		"queue -n shop --scheduler https://127.0.0.1:1":   `--namespace shop: not supported with --scheduler`,
		"zones -f FILE -o name":                           "node/n3\n",
		"zones -f FILE -o wide":                           "2026-01-02T03:04:05Z",
		"drain n1 --what-if --force -f FILE -o name":      "pod/lone\npod/web-1\n",
		"drain n1 --what-if --force -f FILE -o wide":      "REPLACEMENT  READY\n",
		"explain node n1 -f FILE -o wide":                 "ReplicaSet/web",
		"explain node n1 -f FILE":                         "default/web-1",
		"explain pod web-1 -f FILE -o yaml":               "pod: default/web-1\n",
		"config -o json":                                  `"kind": "BerthConfiguration"`,
		"explain pod web-1 -f FILE -o wide":               `--output "wide": must be text, json or yaml`,
		"explain node n1 -f FILE -o name":                 `--output "name": must be text, wide, json or yaml`,
		"explain node n1 --disk -o wide":                  `--output "wide": must be text, json or yaml with --disk`,
		"queue --scheduler https://127.0.0.1:1 -o wide":   `--output "wide": must be text, name, json or yaml with --scheduler`,
		"version -o name":                                 `--output "name": must be text, json or yaml`,
		"simulate -f FILE -o wide":                        `--output "wide": must be text, json or yaml`,
		"load -o name":                                    `--output "name": must be text, json or yaml`,
		"config -o text":                                  `--output "text": must be yaml or json`,
		"explain displacement web-1 -o name":              `--output "name": must be text, json or yaml`,
		"descheduler --dry-run -o xml":                    `--output "xml": must be text, wide, name, json or yaml`,
		"evictions -o jsonpath={.displacements[0].cause}": `must be text, wide, name, json or yaml`,
	} {
		out, _, err := runBerth(strings.Fields(strings.ReplaceAll(args, "FILE", file))...)
		if err != nil {
			out += err.Error()
		}
		exact := strings.HasSuffix(args, " name") && strings.HasSuffix(want, "\n")
		if exact && out != want || !strings.Contains(out, want) {
			t.Errorf("berth %s: got\n%s\nwant\n%s", args, out, want)
		}
	}
}

// TestYAMLOutput checks -o yaml of several commands.
func TestYAMLOutput(t *testing.T) {
	file := writeFile(t, "dump.yaml", drainDump)
	for args, want := range map[string]string{
		"explain pod web-1 -f " + file: "\npod: default/web-1\n",
		"explain node n1 -f " + file:   "\nnode: n1\n",
		"queue -f " + file:             "[]\n",
		"zones -f " + file:             "name: ",
		"version":                      "\nversion: ",
	} {
		out, _, err := runBerth(append(strings.Fields(args), "-o", "yaml")...)
		if err != nil || !strings.Contains("\n"+out, want) {
			t.Errorf("%s -o yaml: got %v, want %q in\n%s", args, err, want, out)
		}
	}
}

// TestOutputFormatsAreDocumented checks that the list of formats has each command with -o.
func TestOutputFormatsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/reference/output-formats.md")
	if err != nil {
		t.Fatal(err)
	}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		name := strings.TrimPrefix(cmd.CommandPath(), "berth ")
		group, _, _ := strings.Cut(name, " ") // `image` stands for its subcommands
		if cmd.Flags().Lookup("output") != nil && !strings.Contains(string(data), "`"+name+"`") && !strings.Contains(string(data), "`"+group+"`") {
			t.Errorf("docs/reference/output-formats.md does not have %q", name)
		}
		for _, c := range cmd.Commands() {
			check(c)
		}
	}
	check(rootCommand())
}
