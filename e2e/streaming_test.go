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

// testStreams tests the streams of running containers: followed logs, commands with input, attach and
// forwarded ports. It also tests their metrics.
func (c *virtualNodeCluster) testStreams(t *testing.T) {
	c.run(c.pod("logger", "", `command: [sh, -c, "trap exit TERM; while :; do echo said; echo complained >&2; sleep 0.2; done"]`))
	c.mustKubectl("wait", "--for=condition=Ready", "pod/logger", "pod/web", "--timeout=180s")
	t.Run("logs", c.testFollowLogs)
	t.Run("exec", c.testExec)
	t.Run("attach", c.testAttach)
	t.Run("ports", c.testPortForward)
	t.Run("metrics", c.testMetrics)
	c.mustKubectl("delete", "pod", "logger", "--timeout=180s")
}

func (c *virtualNodeCluster) testFollowLogs(t *testing.T) {
	stream, err := c.client().CoreV1().Pods("default").GetLogs("logger", &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	counts := map[string]int{}
	for lines := bufio.NewScanner(stream); counts["said"] < 3 || counts["complained"] < 3; {
		if !lines.Scan() {
			t.Fatalf("the log ended with error %v after lines %v, want 3 of each stream", lines.Err(), counts)
		}
		counts[lines.Text()]++
	}
	if len(counts) != 2 {
		t.Errorf("got lines %v, want said and complained only", counts)
	}
	if got := c.mustKubectl("logs", "logger", "--tail=1", "--timestamps"); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "20") {
		t.Errorf("--tail=1 --timestamps: got %q, want one line with a time", got)
	}
	if r := c.kubectl("logs", "web", "--previous"); r.code != 1 || !strings.Contains(r.stderr, `previous terminated container "main" in pod "web" not found`) {
		t.Errorf("logs of the previous container: got %s, want exit code 1 and \"not found\"", r)
	}
	if r := c.kubectl("logs", "web", "-c", "missing"); r.code != 1 || !strings.Contains(r.stderr, "container missing is not valid for pod web") {
		t.Errorf("logs of a missing container: got %s, want exit code 1 and \"not valid\"", r)
	}
}

// executors returns an executor for each protocol of kubectl. path is exec or attach, and o its options.
func (c *virtualNodeCluster) executors(t *testing.T, pod, path string, o any) map[string]remotecommand.Executor {
	t.Helper()
	request := c.client().CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name(pod).SubResource(path)
	switch o := o.(type) {
	case *corev1.PodExecOptions:
		request = request.VersionedParams(o, scheme.ParameterCodec)
	case *corev1.PodAttachOptions:
		request = request.VersionedParams(o, scheme.ParameterCodec)
	}
	spdyExecutor, err := remotecommand.NewSPDYExecutor(c.config(), http.MethodPost, request.URL())
	if err != nil {
		t.Fatal(err)
	}
	webSocketExecutor, err := remotecommand.NewWebSocketExecutor(c.config(), http.MethodGet, request.URL().String())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]remotecommand.Executor{"SPDY": spdyExecutor, "WebSocket": webSocketExecutor}
}

func (c *virtualNodeCluster) testExec(t *testing.T) {
	o := &corev1.PodExecOptions{Command: []string{"sh", "-c", "tr a-z A-Z; echo bad >&2"}, Stdin: true, Stdout: true, Stderr: true}
	for variant, e := range c.executors(t, "web", "exec", o) {
		var out, errs bytes.Buffer
		text := strings.Repeat("abc ", 50000)
		err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader(text), Stdout: &out, Stderr: &errs})
		if err != nil || out.String() != strings.ToUpper(text) || errs.String() != "bad\n" {
			t.Errorf("%s: got %d bytes, stderr %q and error %v, want %d bytes and stderr bad", variant, out.Len(), errs.String(), err, len(text))
		}
	}
	if r := c.kubectl("exec", "web", "--", "sh", "-c", "exit 3"); r.code != 3 || !strings.Contains(r.stderr, "exit code 3") {
		t.Errorf("a command that fails: got %s, want exit code 3", r)
	}
	if r := c.kubectl("exec", "web", "--", "unknown"); r.code == 0 || !strings.Contains(r.stderr, "unknown") {
		t.Errorf("a missing command: got %s, want an error that names it", r)
	}
	for variant, e := range c.executors(t, "web", "exec", &corev1.PodExecOptions{Command: []string{"sh", "-c", "test -t 1 && echo a terminal"}, Stdout: true, TTY: true}) {
		var out bytes.Buffer
		if err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out, Tty: true}); err != nil || strings.TrimSpace(out.String()) != "a terminal" {
			t.Errorf("%s: on a terminal: got %q and error %v, want \"a terminal\"", variant, out.String(), err)
		}
	}
}

// stopAtText is a writer that stops a stream when the stream has written a text.
type stopAtText struct {
	want string
	stop context.CancelFunc
	got  bytes.Buffer
}

func (w *stopAtText) Write(p []byte) (int, error) {
	w.got.Write(p)
	if strings.Contains(w.got.String(), w.want) {
		w.stop()
	}
	return len(p), nil
}

func (c *virtualNodeCluster) testAttach(t *testing.T) {
	for variant, e := range c.executors(t, "logger", "attach", &corev1.PodAttachOptions{Stdout: true}) {
		ctx, stop := context.WithTimeout(t.Context(), eventTimeout)
		out := &stopAtText{want: "said\nsaid\n", stop: stop}
		err := e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: out})
		stop()
		if !strings.Contains(out.got.String(), out.want) {
			t.Errorf("%s: got %q and error %v, want %q", variant, out.got.String(), err, out.want)
		}
	}
}

func (c *virtualNodeCluster) testPortForward(t *testing.T) {
	u := c.client().CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("web").SubResource("portforward").URL()
	dialer, err := portforward.NewSPDYOverWebsocketDialer(u, c.config())
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
		t.Errorf("request through the forwarded port: got %s, want 200", resp.Status)
	}
	http.DefaultClient.CloseIdleConnections()
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	c.mustKubectl("expose", "pod", "web", "--port", "80", "--target-port", "8080")
	c.mustKubectl("get", "--raw", "/api/v1/namespaces/default/pods/web:8080/proxy/healthz")
	eventually(t, eventTimeout, func() error {
		if r := c.kubectl("get", "--raw", "/api/v1/namespaces/default/services/web/proxy/healthz"); r.code != 0 {
			return fmt.Errorf("request through the Service: got %s, want exit code 0", r)
		}
		return nil
	})
}

func (c *virtualNodeCluster) testMetrics(t *testing.T) {
	node := c.get("web").Spec.NodeName
	eventually(t, eventTimeout, func() error {
		r := c.kubectl("top", "pods", "--no-headers", "--containers")
		for _, pod := range []string{"logger", "web"} {
			if !strings.Contains(r.stdout, pod+" ") {
				return fmt.Errorf("kubectl top pods: got %s, want pod %s", r, pod)
			}
		}
		return nil
	})
	if got := strings.Fields(c.mustKubectl("top", "node", node, "--no-headers")); len(got) != 5 || got[0] != node || got[3] == "0Mi" {
		t.Errorf("kubectl top node: got %v, want the node with its memory", got)
	}
	for path, want := range map[string]string{
		"stats/summary":    `"nodeName": "` + node,
		"metrics/resource": `container_memory_working_set_bytes{container="main",namespace="default",pod="web"}`,
		"metrics":          "kubelet_running_pods",
		"healthz":          "ok",
	} {
		got := c.mustKubectl("get", "--raw", "/api/v1/nodes/"+node+"/proxy/"+path)
		if !strings.Contains(strings.ReplaceAll(got, `":"`, `": "`), want) {
			t.Errorf("%s: got %.300q, want text with %q", path, got, want)
		}
	}
}
