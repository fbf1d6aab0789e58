package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/internal/recording"
	"github.com/berthproject/berth/internal/reports"
)

func runSimulate(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := simulateCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	err := cmd.Execute()
	return out.String(), err
}

// writeFile writes a file in a new directory and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const (
	nodesCSV    = "sn,cpu_milli,memory_mib,gpu,model\nn0,8000,16384,2,T4\nn1,8000,16384,0,\n"
	podsHeader  = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
	podsCSV     = podsHeader + "a,4000,1024,1,1000,,BE,Running,0,90000,0\nb,4000,1024,1,1000,,BE,Running,10,600,12\nc,4000,1024,1,1000,T4,LS,Running,20,700,20\n"
	clusterYAML = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '2', memory: 4Gi, pods: '10'}, capacity: {cpu: '2', memory: 4Gi, pods: '10'}}\n"
)

func TestSimulateErrors(t *testing.T) {
	nodes, pods, dump := writeFile(t, "nodes.csv", nodesCSV), writeFile(t, "pods.csv", podsCSV), writeFile(t, "dump.yaml", clusterYAML)
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no input":           {nil, "set -f, --scenario"},
		"output":             {[]string{"-f", dump, "-o", "xml"}, `must be text, json or yaml`},
		"timeline":           {[]string{"-f", dump, "--timeline", "some"}, `--timeline "some": must be auto, all or none`},
		"until":              {[]string{"-f", dump, "--until", "-1s"}, "--until -1s: must be above 0"},
		"lag":                {[]string{"-f", dump, "--lag", "-1s"}, "--lag -1s: must not be negative"},
		"latency":            {[]string{"-f", dump, "--latency", "-1s"}, "--latency -1s: must not be negative"},
		"missing dump":       {[]string{"-f", "nothing.yaml"}, "nothing.yaml"},
		"duplicate object":   {[]string{"-f", dump, "-f", dump}, "nodes n1: given twice"},
		"no name":            {[]string{"-f", writeFile(t, "x.yaml", "apiVersion: v1\nkind: Node\n")}, "metadata.name: empty"},
		"missing scenario":   {[]string{"--scenario", "nothing.txt"}, "nothing.txt"},
		"invalid scenario":   {[]string{"--scenario", writeFile(t, "s.txt", "node n1\npod\n")}, "s.txt:2: pod: the name of the pod is missing"},
		"scenario too long":  {[]string{"--scenario", writeFile(t, "l.txt", "until 1h\n"), "--until", "1m"}, "must be at least 1h"},
		"pods without nodes": {[]string{"--openb-pods", pods}, "requires --openb-nodes"},
		"fill without pods":  {[]string{"--openb-nodes", nodes, "--openb-fill"}, "--openb-fill: requires --openb-pods"},
		"priorities":         {[]string{"--openb-nodes", nodes, "--openb-priorities"}, "--openb-priorities: requires --openb-pods"},
		"speed":              {[]string{"--openb-nodes", nodes, "--openb-pods", pods, "--openb-speed", "0"}, "--openb-speed 0"},
		"rate":               {[]string{"--openb-nodes", nodes, "--openb-pods", pods, "--openb-rate", "0"}, "--openb-rate 0"},
		"day":                {[]string{"--openb-nodes", nodes, "--openb-day", "-2"}, "--openb-day -2"},
		"invalid time":       {[]string{"--openb-nodes", nodes, "--openb-pods", writeFile(t, "p.csv", podsHeader+"a,1,1,0,0,,BE,Running,x,9,\n")}, `p.csv:2: creation_time: "x"`},
		"times swapped":      {[]string{"--openb-nodes", nodes, "--openb-pods", writeFile(t, "q.csv", podsHeader+"a,1,1,0,0,,BE,Running,9,3,\n")}, "q.csv:2: creation_time 9, deletion_time 3"},
		"no pods":            {[]string{"--openb-nodes", nodes, "--openb-pods", writeFile(t, "e.csv", podsHeader)}, "e.csv: no pods"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := runSimulate(t, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestSimulateTrace(t *testing.T) {
	nodes, pods := writeFile(t, "nodes.csv", nodesCSV), writeFile(t, "pods.csv", podsCSV)
	out, err := runSimulate(t, "--openb-nodes", nodes, "--openb-pods", pods, "--openb-priorities", "--timeline", "all", "--check")
	for _, want := range []string{"default/c is bound to n0", "is preempted by default/c", "1 victims of 1 preemptors", "default/a is bound to n0"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("got error %v, want %q in:\n%s", err, want, out)
		}
	}
}

func TestSimulateDump(t *testing.T) {
	dump, scenario := writeFile(t, "dump.yaml", clusterYAML), writeFile(t, "s.txt", "pod a cpu=1\nat 5s pod b cpu=2\nexpect at 9s pod b pending \"Insufficient cpu\"\nuntil 1m\n")
	out, err := runSimulate(t, "-f", dump, "--scenario", scenario, "-o", "json", "--seed", "7")
	if err != nil || !strings.Contains(out, `"placed": 1`) {
		t.Fatalf("got error %v, want 1 pod placed in:\n%s", err, out)
	}
	failing := writeFile(t, "bad.txt", "expect at 1s bound 5\nuntil 1m\n")
	if _, err := runSimulate(t, "-f", dump, "--scenario", failing); err == nil || !strings.Contains(err.Error(), "simulation: 1 expectation failed") {
		t.Errorf("with an expectation that fails: got error %v, want 1 failed expectation", err)
	}
}

// TestSimulateRecording checks that a recorded simulation can be replayed and that it ends at the present. The
// simulation has options from a scenario, and a restart of the scheduler.
func TestSimulateRecording(t *testing.T) {
	dir, scenario := t.TempDir(), writeFile(t, "s.txt", "option backoff=2s ties=3\nnode n cpu=2\npod a cpu=1\nat 5s pod b cpu=2\nat 10s kill scheduler for 1s\nat 20s delete pod a\nuntil 1m\n")
	if out, err := runSimulate(t, "--scenario", scenario, "--seed", "7", "--recording", dir); err != nil {
		t.Fatalf("got error %v, want none: %s", err, out)
	}
	out, err := runReplay(t, "--journal", dir)
	if err != nil || strings.Count(out, "are identical") != 2 || strings.Contains(out, "not replayed") {
		t.Errorf("got %s, %v; want identical decisions of two runs of the scheduler", out, err)
	}
	now := time.Now()
	for age, want := range map[time.Duration]string{time.Second: "n", 50 * time.Second: ""} {
		state, err := reports.StateAt(dir, now.Add(-age))
		if err != nil {
			t.Fatal(err)
		}
		if node := nodeOf(state, "b"); node != want {
			t.Errorf("%v before the end: pod b is on node %q, want %q", age, node, want)
		}
	}
	if _, err := runSimulate(t, "--scenario", scenario, "--recording", dir); err == nil || !strings.Contains(err.Error(), "must be a directory without one") {
		t.Errorf("a directory with a recording: got %v, want an error", err)
	}
}

// nodeOf returns the node of a recorded pod.
func nodeOf(state *recording.State, name string) string {
	for _, p := range state.Pods() {
		if p.Name == name {
			return p.NodeName
		}
	}
	return ""
}

// TestDocsExample checks the first example of the simulation guide.
func TestDocsExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/simulate.md")
	if err != nil {
		t.Fatal(err)
	}
	var example []string
	for line := range strings.Lines(string(text)) {
		if code, ok := strings.CutPrefix(line, "    "); ok {
			example = append(example, code)
		} else if len(example) > 0 {
			break
		}
	}
	if len(example) < 5 {
		t.Fatalf("first example of docs/guides/simulate.md: got %d lines, want at least 5: %q", len(example), example)
	}
	if out, err := runSimulate(t, "--scenario", writeFile(t, "drain.txt", strings.Join(example, "")), "--timeline", "all", "--check"); err != nil {
		t.Errorf("got error %v, want none; output:\n%s", err, out)
	}
}
