package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/berthproject/berth/internal/cli"
)

const drainDump = `
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}
status: {allocatable: {cpu: "1", memory: 8Gi, pods: "110"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Pod
metadata:
  {name: web-1, namespace: default, uid: a, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: rs, controller: true}]}
spec: {nodeName: n1, schedulerName: default-scheduler, containers: [{name: main, image: web, resources: {requests: {cpu: "1"}}}]}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: lone, namespace: default, uid: b}
spec: {nodeName: n1, schedulerName: default-scheduler, containers: [{name: main, image: web}]}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
`

// runBerth runs a command in process and returns its output and exit code.
func runBerth(args ...string) (out string, code int, err error) {
	var b bytes.Buffer
	cmd := rootCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&b)
	cmd.SetErr(&b)
	if err = cmd.Execute(); err != nil {
		code = cli.ExitCode(err)
	}
	return b.String(), code, err
}

func TestDrainWhatIfFromDump(t *testing.T) {
	file := writeFile(t, "dump.yaml", drainDump)
	out, code, err := runBerth("drain", "n1", "--what-if", "--force", "-f", file)
	if err != nil || code != 0 || !strings.HasPrefix(out, "node n1: 1 to move, 1 to remove; 1 round\n") || !strings.Contains(out, "default/web-1  n2") || !strings.Contains(out, "not replaced") {
		t.Errorf("got exit code %d, %v, want 0 and web-1 moved to n2:\n%s", code, err, out)
	}
	out, code, _ = runBerth("drain", "n1", "n2", "n1", "--what-if", "--force", "-f", file, "-o", "json")
	if code != 3 || !strings.Contains(out, `"exitCode": 3`) || !strings.Contains(out, `"pendingReason": "0/2 nodes are available: 2 node(s) were unschedulable.`) {
		t.Errorf("got exit code %d, want 3 and two unschedulable nodes:\n%s", code, out)
	}
}

// TestDrainYAML checks that -o yaml has the fields of -o json.
func TestDrainYAML(t *testing.T) {
	out, code, _ := runBerth("drain", "n1", "n2", "--what-if", "--force", "-f", writeFile(t, "dump.yaml", drainDump), "-o", "yaml")
	if code != 3 || !strings.Contains(out, "\nexitCode: 3\n") && !strings.HasPrefix(out, "exitCode: 3\n") || strings.Contains(out, "{") {
		t.Errorf("got exit code %d, want 3 and YAML:\n%s", code, out)
	}
}

func TestDrainErrors(t *testing.T) {
	file := writeFile(t, "dump.yaml", drainDump)
	for args, want := range map[string]string{
		"drain":                                        "no node given",
		"drain n1 --what-if -f " + file:                "--force evicts them: default/lone",
		"drain n9 --what-if --force -f " + file:        "node n9: not found among 2 nodes",
		"drain n1 -f " + file:                          "a dump cannot be drained",
		"drain n1 --what-if -o xml -f " + file:         `--output "xml": must be text, wide, name, json or yaml`,
		"drain n1 --timeout -3s":                       "must not be negative",
		"drain n1 --what-if --pod-selector a=b,=c":     `--pod-selector "a=b,=c"`,
		"drain n1 --what-if -f /does/not/exist":        "/does/not/exist",
		"drain n1 --grace-period x":                    `--grace-period "x": must be a whole number`,
		"drain n1 --grace-period 99999999999999999999": `--grace-period "99999999999999999999": must be a whole number from -9223372036854775808 to 9223372036854775807`,
		"drain n1 --timeout 5":                         `--timeout "5": must be a duration, such as 90s or 5m`,
	} {
		_, code, err := runBerth(strings.Fields(args)...)
		if err == nil || code != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got exit code %d and error %v, want 1 and %q", args, code, err, want)
		}
	}
}
