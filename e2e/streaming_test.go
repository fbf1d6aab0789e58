package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
)

// testStreams tests the streams of running containers: followed logs, commands with input,
// attach, ports, metrics.
func (c *virtualNodeCluster) testStreams(t *testing.T) {
	c.run(c.pod("talks", "", `command: [sh, -c, "trap exit TERM; while :; do echo said; echo complained >&2; sleep 0.2; done"]`))
	c.mustKubectl("wait", "--for=condition=Ready", "pod/talks", "pod/web", "--timeout=60s")
	t.Run("logs", c.testFollowLogs)
	t.Run("exec", c.testExec)
	t.Run("attach", c.testAttach)
	t.Run("ports", c.testPortForward)
	t.Run("figures", c.testMetrics)
	c.mustKubectl("delete", "pod", "talks", "--timeout=60s")
}

func (c *virtualNodeCluster) testFollowLogs(t *testing.T) {
	stream, err := c.client().CoreV1().Pods("default").GetLogs("talks", &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	seen := map[string]int{}
	for lines := bufio.NewScanner(stream); seen["said"] < 3 || seen["complained"] < 3; {
		if !lines.Scan() {
			t.Fatalf("the log ended: %v, after %v", lines.Err(), seen)
		}
		seen[lines.Text()]++
	}
	if len(seen) != 2 {
		t.Errorf("talks wrote %v", seen)
	}
	if got := c.mustKubectl("logs", "talks", "--tail=1", "--timestamps"); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "20") {
		t.Errorf("the last line with its time: %q", got)
	}
	if r := c.kubectl("logs", "web", "--previous"); r.code != 1 || !strings.Contains(r.stderr, `previous terminated container "main" in pod "web" not found`) {
		t.Errorf("logs of the previous container: %s", r)
	}
	if r := c.kubectl("logs", "web", "-c", "ghost"); r.code != 1 || !strings.Contains(r.stderr, "container ghost is not valid for pod web") {
		t.Errorf("logs of a missing container: %s", r)
	}
}

// terminals returns the connections to a command by the protocol of the client.
func (c *virtualNodeCluster) terminals(t *testing.T, pod, path string, o any) map[string]remotecommand.Executor {
	t.Helper()
	request := c.client().CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name(pod).SubResource(path)
	switch o := o.(type) {
	case *corev1.PodExecOptions:
		request = request.VersionedParams(o, scheme.ParameterCodec)
	case *corev1.PodAttachOptions:
		request = request.VersionedParams(o, scheme.ParameterCodec)
	}
	old, err := remotecommand.NewSPDYExecutor(c.config(), http.MethodPost, request.URL())
	if err != nil {
		t.Fatal(err)
	}
	now, err := remotecommand.NewWebSocketExecutor(c.config(), http.MethodGet, request.URL().String())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]remotecommand.Executor{"SPDY": old, "WebSocket": now}
}

func (c *virtualNodeCluster) testExec(t *testing.T) {
	o := &corev1.PodExecOptions{Command: []string{"sh", "-c", "tr a-z A-Z; echo bad >&2"}, Stdin: true, Stdout: true, Stderr: true}
	for variant, e := range c.terminals(t, "web", "exec", o) {
		var out, errs bytes.Buffer
		text := strings.Repeat("abc ", 50000)
		err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader(text), Stdout: &out, Stderr: &errs})
		if err != nil || out.String() != strings.ToUpper(text) || errs.String() != "bad\n" {
			t.Errorf("%s: %d bytes of %d, %q, %v", variant, out.Len(), len(text), errs.String(), err)
		}
	}
	if r := c.kubectl("exec", "web", "--", "sh", "-c", "exit 3"); r.code != 3 || !strings.Contains(r.stderr, "exit code 3") {
		t.Errorf("a command that fails: %s", r)
	}
	if r := c.kubectl("exec", "web", "--", "frob"); r.code == 0 || !strings.Contains(r.stderr, "frob") {
		t.Errorf("a missing command: %s", r)
	}
	for variant, e := range c.terminals(t, "web", "exec", &corev1.PodExecOptions{Command: []string{"sh", "-c", "test -t 1 && echo a terminal"}, Stdout: true, TTY: true}) {
		var out bytes.Buffer
		if err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out, Tty: true}); err != nil || strings.TrimSpace(out.String()) != "a terminal" {
			t.Errorf("%s: on a terminal: %q, %v", variant, out.String(), err)
		}
	}
}

// stopAtText ends a stream when it has printed a word.
type stopAtText struct {
	word string
	stop context.CancelFunc
	text bytes.Buffer
}

func (u *stopAtText) Write(p []byte) (int, error) {
	u.text.Write(p)
	if strings.Contains(u.text.String(), u.word) {
		u.stop()
	}
	return len(p), nil
}

func (c *virtualNodeCluster) testAttach(t *testing.T) {
	for variant, e := range c.terminals(t, "talks", "attach", &corev1.PodAttachOptions{Stdout: true}) {
		ctx, stop := context.WithTimeout(t.Context(), happenWithin)
		out := &stopAtText{word: "said\nsaid\n", stop: stop}
		err := e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: out})
		stop()
		if !strings.Contains(out.text.String(), out.word) {
			t.Errorf("%s: %q, %v", variant, out.text.String(), err)
		}
	}
}

func (c *virtualNodeCluster) testPortForward(t *testing.T) {
	to := c.client().CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("web").SubResource("portforward").URL()
	dialer, err := portforward.NewSPDYOverWebsocketDialer(to, c.config())
	if err != nil {
		t.Fatal(err)
	}
	stop, ready, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:8080"}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- f.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	ports, err := f.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/healthz", ports[0].Local))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("through the forwarded port: %s", resp.Status)
	}
	http.DefaultClient.CloseIdleConnections()
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	c.mustKubectl("expose", "pod", "web", "--port", "80", "--target-port", "8080")
	c.mustKubectl("get", "--raw", "/api/v1/namespaces/default/pods/web:8080/proxy/healthz")
	eventually(t, happenWithin, func() error {
		if r := c.kubectl("get", "--raw", "/api/v1/namespaces/default/services/web/proxy/healthz"); r.code != 0 {
			return fmt.Errorf("through the service: %s", r)
		}
		return nil
	})
}

func (c *virtualNodeCluster) testMetrics(t *testing.T) {
	node := c.get("web").Spec.NodeName
	eventually(t, happenWithin, func() error {
		r := c.kubectl("top", "pods", "--no-headers", "--containers")
		for _, pod := range []string{"talks", "web"} {
			if !strings.Contains(r.stdout, pod+" ") {
				return fmt.Errorf("%s is missing in: %s", pod, r)
			}
		}
		return nil
	})
	if got := strings.Fields(c.mustKubectl("top", "node", node, "--no-headers")); len(got) != 5 || got[0] != node || got[3] == "0Mi" {
		t.Errorf("the node uses %v", got)
	}
	for path, want := range map[string]string{
		"stats/summary":    `"nodeName": "` + node,
		"metrics/resource": `container_memory_working_set_bytes{container="main",namespace="default",pod="web"}`,
		"metrics":          "kubelet_running_pods",
		"healthz":          "ok",
	} {
		got := c.mustKubectl("get", "--raw", "/api/v1/nodes/"+node+"/proxy/"+path)
		if !strings.Contains(strings.ReplaceAll(got, `":"`, `": "`), want) {
			t.Errorf("%s: %.300q, want %q", path, got, want)
		}
	}
}
