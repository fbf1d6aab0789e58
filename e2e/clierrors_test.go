package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommandErrors checks that wrong arguments end with exit code 1 and one line that
// names the flag or file, the value, and the valid values.
func TestCommandErrors(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	usedAddress := listener.Addr().String()
	dir := h.path("data")
	up := func(args ...string) []string {
		return append([]string{"up", "--data-dir", dir, "--listen", "127.0.0.1:0"}, args...)
	}
	for name, tc := range map[string]struct {
		args  []string
		words []string
	}{
		"port in use":                  {[]string{"up", "--data-dir", dir, "--listen", usedAddress}, []string{"--listen " + usedAddress, "in use", "choose another"}},
		"server, port in use":          {[]string{"server", "--data-dir", dir, "--listen", usedAddress}, []string{usedAddress, "in use"}},
		"no port":                      {[]string{"up", "--data-dir", dir, "--listen", "localhost"}, []string{"--listen", `"localhost"`, "HOST:PORT"}},
		"data directory is a file":     {[]string{"up", "--data-dir", h.write("file", ""), "--listen", "127.0.0.1:0"}, []string{"--data-dir", "file", "not a directory"}},
		"negative nodes":               {up("--nodes", "-1"), []string{"--nodes -1", "between 0 and 20000"}},
		"non-numeric node CPU":         {up("--node-cpu", "many"), []string{"--node-cpu", `"many"`, "such as 8"}},
		"zero node memory":             {up("--node-memory", "0"), []string{"--node-memory", `"0"`, "above 0"}},
		"nodes file missing":           {up("--nodes-file", h.path("none.yaml")), []string{"none.yaml", "no such file"}},
		"nodes file of pods in a list": {up("--nodes-file", h.write("list.yaml", "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod}]\n")), []string{"list.yaml", "items[0]", `"Pod"`}},
		"nodes file of pods":           {up("--nodes-file", "../examples/pods.yaml"), []string{"pods.yaml", "document 1", "must be v1 Node"}},
		"malformed nodes file":         {up("--nodes-file", h.write("bad.yaml", "apiVersion: v1\nkind: Node\nmetadata: {nam: n1}\n")), []string{"bad.yaml", "document 1", "nam"}},
		"empty nodes file":             {up("--nodes-file", h.write("empty.yaml", "---\n")), []string{"empty.yaml", "no Node"}},
		"nodes file, duplicate name":   {up("--nodes-file", h.write("twice.yaml", duplicateNodes)), []string{`"n1"`, "duplicate"}},
		"two sources of nodes":         {up("--nodes-file", "x", "--openb-nodes", "y"), []string{"--nodes-file", "--openb-nodes", "only one"}},
		"malformed OpenB nodes":        {up("--openb-nodes", h.write("bad.csv", "sn,cpu_milli,memory_mib,gpu,model\nn1,-4,1,0,\n")), []string{"bad.csv:2", "cpu_milli", `"-4"`}},
		"unknown option":               {up("--config", h.write("opt.yaml", "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nscheduler: {sed: 4}\n")), []string{"opt.yaml", "sed"}},
		"option out of range":          {up("--config", h.write("rng.yaml", "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nscheduler: {bindWorkers: 0}\n")), []string{"rng.yaml", "scheduler.bindWorkers", "0", "between 1 and 1000"}},
		"not a configuration":          {up("--config", h.write("pod.yaml", "apiVersion: v1\nkind: Pod\n")), []string{"pod.yaml", "Pod", "BerthConfiguration"}},
		"unknown flag":                 {up("--node", "3"), []string{"--node"}},
		"unknown command":              {[]string{"harbor"}, []string{`"harbor"`}},
		"extra argument":               {up("now"), []string{`"now"`}},
		"scheduler, no cluster":        {[]string{"scheduler"}, []string{"no cluster in", "berth up", "--kubeconfig"}},
		"scheduler, bad election":      {[]string{"scheduler", "--kubeconfig", h.write("none.kubeconfig", fakeKubeconfig), "--leader-elect-lease-duration", "1s", "--leader-elect-renew-deadline", "2s"}, []string{"lease", "1s", "2s"}},
		"kubeconfig missing":           {[]string{"controller", "--kubeconfig", h.path("none")}, []string{"--kubeconfig", "none", "no such file"}},
		"kubectl, no cluster":          {[]string{"kubectl", "get", "pods"}, []string{"no cluster in", "berth up"}},
		"load without arguments":       {[]string{"load"}, []string{"--openb-pods"}},
		"load, malformed list":         {[]string{"load", "--kubeconfig", h.path("none.kubeconfig"), "--openb-pods", h.write("pods.csv", "name,cpu\n")}, []string{"pods.csv", "no column", "cpu_milli"}},
		"load, output":                 {[]string{"load", "--openb-pods", "x", "-o", "xml"}, []string{"-o", `"xml"`, "text, json or yaml"}},
		"explain, output":              {[]string{"explain", "pod", "x", "-o", "xml"}, []string{"-o", `"xml"`, "text, json or yaml"}},
		"explain, no dump":             {[]string{"explain", "pod", "x", "-f", h.path("none")}, []string{"none", "no such file"}},
		"explain, bad dump":            {[]string{"explain", "pod", "x", "-f", h.write("dump.yaml", "{]")}, []string{"dump.yaml"}},
		"credentials for no user":      {[]string{"credentials", "--data-dir", dir}, []string{"--node", "--for"}},
		"credentials, no cluster":      {[]string{"credentials", "--data-dir", h.path("nowhere"), "--node", "n1"}, []string{"nowhere", "no cluster"}},
	} {
		t.Run(name, func(t *testing.T) {
			checkUsageError(t, h.run(tc.args...), tc.words...)
		})
	}
}

const duplicateNodes = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {capacity: {cpu: 1, memory: 1Gi}}\n---\n" +
	"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {capacity: {cpu: 1, memory: 1Gi}}\n"

const fakeKubeconfig = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
`

// checkUsageError checks that a command ended with exit code 1 and one line on stderr that contains all words.
func checkUsageError(t *testing.T, r result, words ...string) {
	t.Helper()
	line := strings.TrimSuffix(r.stderr, "\n")
	if r.code != 1 || r.stdout != "" || strings.Contains(line, "\n") || !strings.HasPrefix(line, "berth: ") {
		t.Errorf("got %s, want exit code 1 and one line on stderr that begins with \"berth: \"", r)
	}
	for _, w := range words {
		if !strings.Contains(line, w) {
			t.Errorf("got output %s, want text with %q", line, w)
		}
	}
}

func TestDataDirectoryInUse(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--nodes", "1")
	for _, command := range []string{"up", "server"} {
		checkUsageError(t, h.run(command, "--data-dir", h.path("data"), "--listen", "127.0.0.1:0"), "data directory "+h.path("data"), "in use by another process", "--data-dir")
	}
	c.mustKubectl("get", "nodes") // the first process continues to serve
}

// TestNodesFile checks that `berth up` simulates the nodes of a manifest.
func TestNodesFile(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	file := h.write("nodes.yaml", `
apiVersion: v1
kind: Node
metadata: {name: big, labels: {disk: ssd, topology.kubernetes.io/zone: a}, annotations: {note: kept}}
spec: {taints: [{key: dedicated, value: big, effect: NoSchedule}]}
status: {capacity: {cpu: 32, memory: 64Gi, pods: 10, example.com/fpga: 2}}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: small, labels: {disk: hdd}}
  status: {capacity: {cpu: 2, memory: 4Gi}, allocatable: {cpu: 1500m, memory: 3Gi}}
`)
	c := h.up("--nodes-file", file)
	nodes := map[string]string{}
	for _, n := range c.nodes() {
		nodes[n.Name] = n.Labels["disk"] + " " + n.Annotations["note"] + " " + n.Status.Allocatable.Cpu().String() + " " + n.Status.Allocatable.Pods().String()
		if n.Labels["kubernetes.io/hostname"] != n.Name || n.Labels["kubernetes.io/os"] != "linux" {
			t.Errorf("node %s: got labels %v, want kubernetes.io/hostname and kubernetes.io/os=linux", n.Name, n.Labels)
		}
	}
	if len(nodes) != 2 || nodes["big"] != "ssd kept 32 10" || nodes["small"] != "hdd  1500m 110" {
		t.Errorf("got nodes %q, want those of the file", nodes)
	}
	c.mustKubectl("run", "plain", "--image", "plain:1")
	c.mustKubectl("run", "fpga", "--image", "fpga:1", "--overrides", `{"spec":{"tolerations":[{"key":"dedicated","operator":"Exists"}],
		"containers":[{"name":"fpga","image":"fpga:1","resources":{"limits":{"example.com/fpga":"2"}}}]}}`)
	c.waitForRunning(2)
	for _, p := range c.pods() {
		if want := map[string]string{"plain": "small", "fpga": "big"}[p.Name]; p.Spec.NodeName != want {
			t.Errorf("pod %s is on %s, want %s", p.Name, p.Spec.NodeName, want)
		}
	}
}

// TestConfigReadsBack checks that the output of `berth config` is a configuration file. `berth up` must use the options
// of such a file and of a KubeSchedulerConfiguration.
func TestConfigReadsBack(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	printed := h.run("config")
	if printed.code != 0 || !strings.Contains(printed.stdout, "kind: BerthConfiguration") {
		t.Fatalf("berth config: got %s, want exit code 0 and a BerthConfiguration", printed)
	}
	reread := h.run("config", "--config", h.write("berth.yaml", printed.stdout))
	if reread.stdout != printed.stdout {
		t.Errorf("config of a printed configuration: got %s, want %s", reread, printed.stdout)
	}
	changed := strings.Replace(printed.stdout, "seed: 0", "seed: 42", 1)
	data := h.run("config", "-o", "json", "--config", h.write("seed.yaml", changed))
	if data.code != 0 || !strings.Contains(data.stdout, `"seed": 42`) {
		t.Errorf("config with a changed seed: got %s, want seed 42", data)
	}
	files := changed + "---\napiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: tight, pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]\n"
	c := h.up("--config", h.write("both.yaml", files))
	if out := c.proc.out.String(); !strings.Contains(out, "seed 42") || !strings.Contains(out, "tight") {
		t.Errorf("got output %s, want seed 42 and profile tight of the file", out)
	}
	for _, name := range []string{"a", "b", "c"} {
		c.mustKubectl("run", name, "--image", "x:1", "--overrides", `{"spec":{"schedulerName":"tight","containers":[{"name":"x","image":"x:1","resources":{"requests":{"cpu":"1"}}}]}}`)
	}
	c.waitForRunning(3)
	pods := c.pods()
	if pods[0].Spec.NodeName != pods[1].Spec.NodeName || pods[1].Spec.NodeName != pods[2].Spec.NodeName {
		t.Errorf("pods on %s, %s and %s with MostAllocated, want one node", pods[0].Spec.NodeName, pods[1].Spec.NodeName, pods[2].Spec.NodeName)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "data/berth.log")); err != nil {
		t.Error(err)
	}
}
