package nodeapi_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/agent/server"
	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/apiserver/auth/pki"
)

// TestNodeAPI tests requests to nodes that clients send to the API server. The agents have a fake container
// runtime.
func TestNodeAPI(t *testing.T) {
	c, rt := newTestCluster(t), newStreamingRuntime(t)
	var web, simulated *corev1.Pod
	node := &server.Node{Name: "n1", Runtime: rt, Pods: func() []*corev1.Pod { return []*corev1.Pod{web} },
		Summary: func(ctx context.Context) (*stats.Summary, error) {
			return podUsageSummary("n1", 250e6, 64<<20, web)(ctx)
		},
		Disk: func(context.Context) (any, error) { return map[string]int{"images": 3}, nil }}
	c.node("n1", c.agent(pki.Node("n1"), node), nil)
	web = c.pod("web", "n1", "main", "side")
	id := rt.startContainer(t, web, "main", 0)

	simulatedAgents := c.agent(pki.SimulatedNodes(),
		&server.Node{Name: "s1", Pods: func() []*corev1.Pod { return []*corev1.Pod{simulated} }, Summary: func(ctx context.Context) (*stats.Summary, error) {
			return podUsageSummary("s1", 1e9, 1<<30, simulated)(ctx)
		}},
		&server.Node{Name: "s2", Pods: func() []*corev1.Pod { return nil }})
	for _, name := range []string{"s1", "s2"} {
		c.node(name, nil, map[string]string{v1alpha1.AgentURLAnnotation: fmt.Sprintf("https://%s/nodes/%s", simulatedAgents, name)})
	}
	simulated = c.pod("simulated", "s1", "main")

	t.Run("logs", func(t *testing.T) { c.testLogs(t, rt, web, id) })
	t.Run("exec", func(t *testing.T) { c.testExec(t) })
	t.Run("attach", func(t *testing.T) { c.testAttach(t) })
	t.Run("port-forward", func(t *testing.T) { c.testPortForward(t) })
	t.Run("proxy", func(t *testing.T) { c.testProxy(t) })
	t.Run("usage", func(t *testing.T) { c.testUsage(t) })
	t.Run("permissions", func(t *testing.T) { c.testPermissions(t) })
	t.Run("untrusted peers", func(t *testing.T) { c.testUntrustedPeers(t, node) })
	t.Run("simulated", func(t *testing.T) { c.testSimulatedNode(t) })
}

func (c *testCluster) testLogs(t *testing.T, rt *streamingRuntime, p *corev1.Pod, id string) {
	pods := c.client.CoreV1().Pods("default")
	for _, line := range []string{"one", "two"} {
		if err := rt.Log(id, "stdout", line); err != nil {
			t.Fatal(err)
		}
	}
	read := func(o corev1.PodLogOptions) string {
		stream, err := pods.GetLogs("web", &o).Stream(t.Context())
		if err != nil {
			return err.Error()
		}
		defer stream.Close()
		text, err := io.ReadAll(stream)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	for want, o := range map[string]corev1.PodLogOptions{
		"one\ntwo\n": {Container: "main"},
		"two\n":      {Container: "main", TailLines: ptr.To[int64](1)},
		"a container name must be specified for pod web, choose one of: [main side]":      {},
		"container missing is not valid for pod web":                                      {Container: "missing"},
		`container "side" in pod "web" is waiting to start: no logs yet`:                  {Container: "side"},
		`previous terminated container "main" in pod "web" not found`:                     {Container: "main", Previous: true},
		`tailLines: Invalid value: -1: must be greater than or equal to 0`:                {Container: "main", TailLines: ptr.To[int64](-1)},
		`stream: Unsupported value: "Stdin": supported values: "All", "Stderr", "Stdout"`: {Container: "main", Stream: ptr.To("Stdin")},
	} {
		if got := read(o); !strings.HasSuffix(got, want) {
			t.Errorf("%+v: got %q, want %q", o, got, want)
		}
	}
	stream, err := pods.GetLogs("web", &corev1.PodLogOptions{Container: "main", Follow: true, TailLines: ptr.To[int64](1)}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	lines := bufio.NewReader(stream)
	for _, want := range []string{"two\n", "three\n"} {
		if line, err := lines.ReadString('\n'); line != want {
			t.Errorf("followed log: got %q, %v, want %q", line, err, want)
		}
		if want == "two\n" {
			if err := rt.Log(id, "stderr", "three"); err != nil {
				t.Fatal(err)
			}
		}
	}
	rt.Exit("web", "main", 1, "")
	if remaining, err := io.ReadAll(lines); len(remaining) > 0 || err != nil {
		t.Errorf("followed log after the container's end: got %q, %v, want nothing", remaining, err)
	}
	second := rt.startContainer(c.t, p, "main", 1)
	if err := rt.Log(second, "stdout", "restarted"); err != nil {
		t.Fatal(err)
	}
	if got := read(corev1.PodLogOptions{Container: "main"}); got != "restarted\n" {
		t.Errorf("log after a restart: got %q, want restarted", got)
	}
	if got := read(corev1.PodLogOptions{Container: "main", Previous: true}); got != "one\ntwo\nthree\n" {
		t.Errorf("log of the previous container: got %q, want one, two, three", got)
	}
}

// executors returns an executor for each protocol of kubectl. path is exec or attach, and o its options.
func (c *testCluster) executors(t *testing.T, path string, o any, method string) map[string]remotecommand.Executor {
	t.Helper()
	u := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("web").SubResource(path)
	switch o := o.(type) {
	case *corev1.PodExecOptions:
		u = u.VersionedParams(o, scheme.ParameterCodec)
	case *corev1.PodAttachOptions:
		u = u.VersionedParams(o, scheme.ParameterCodec)
	}
	spdyExecutor, err := remotecommand.NewSPDYExecutor(c.admin, method, u.URL())
	if err != nil {
		t.Fatal(err)
	}
	webSocketExecutor, err := remotecommand.NewWebSocketExecutor(c.admin, http.MethodGet, u.URL().String())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]remotecommand.Executor{"SPDY": spdyExecutor, "WebSocket": webSocketExecutor}
}

func (c *testCluster) testExec(t *testing.T) {
	o := &corev1.PodExecOptions{Container: "main", Command: []string{"echo", "a&b"}, Stdin: true, Stdout: true, Stderr: true}
	for variant, e := range c.executors(t, "exec", o, http.MethodPost) {
		var out, errs bytes.Buffer
		err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: strings.NewReader("input"), Stdout: &out, Stderr: &errs})
		if err != nil || out.String() != "echo a&b\nINPUT" || errs.String() != "warning\n" {
			t.Errorf("%s: got stdout %q, stderr %q and error %v, want the command, INPUT and warning", variant, out.String(), errs.String(), err)
		}
	}
	for variant, e := range c.executors(t, "exec", &corev1.PodExecOptions{Container: "main", Command: []string{"exit", "7"}, Stdout: true}, http.MethodPost) {
		err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard})
		if code, ok := err.(exec.CodeExitError); !ok || code.Code != 7 {
			t.Errorf("%s: got error %v, want exit code 7", variant, err)
		}
	}
	for variant, e := range c.executors(t, "exec", &corev1.PodExecOptions{Container: "side", Command: []string{"x"}, Stdout: true}, http.MethodPost) {
		if err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard}); err == nil || !strings.Contains(err.Error(), `container "side" in pod "web" is not running`) {
			t.Errorf("%s: exec in a container without a process: got error %v, want \"is not running\"", variant, err)
		}
	}
}

func (c *testCluster) testAttach(t *testing.T) {
	for variant, e := range c.executors(t, "attach", &corev1.PodAttachOptions{Container: "main", Stdout: true}, http.MethodPost) {
		var out bytes.Buffer
		if err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out}); err != nil || out.String() != "attached\n" {
			t.Errorf("%s: got %q and error %v, want attached", variant, out.String(), err)
		}
	}
}

func (c *testCluster) testPortForward(t *testing.T) {
	u := c.client.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name("web").SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(c.admin)
	if err != nil {
		t.Fatal(err)
	}
	tunnel, err := portforward.NewSPDYOverWebsocketDialer(u, c.admin)
	if err != nil {
		t.Fatal(err)
	}
	for variant, dialer := range map[string]httpstream.Dialer{"SPDY": spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, u), "WebSocket": tunnel} {
		stop, ready := make(chan struct{}), make(chan struct{})
		f, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:8080"}, stop, ready, io.Discard, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- f.ForwardPorts() }()
		select {
		case <-ready:
		case err := <-done:
			t.Fatalf("%s: %v", variant, err)
		}
		ports, err := f.GetPorts()
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", ports[0].Local))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(conn, "hello")
		if line, err := bufio.NewReader(conn).ReadString('\n'); line != "8080 hello\n" {
			t.Errorf("%s: got line %q and error %v, want 8080 hello", variant, line, err)
		}
		_ = conn.Close()
		close(stop)
		if err := <-done; err != nil {
			t.Errorf("%s: %v", variant, err)
		}
	}
}

// getRaw returns the response to a GET request of a user, or of the admin if user is empty. With an error it
// returns the message of the Status.
func (c *testCluster) getRaw(user, path string) (string, error) {
	client := c.client
	if user != "" {
		client = c.impersonate(user, c.admin)
	}
	text, err := client.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(c.t.Context())
	var status metav1.Status
	if err != nil && json.Unmarshal(text, &status) == nil {
		return status.Message, err
	}
	return string(text), err
}

func (c *testCluster) testProxy(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/nodes/n1/proxy/healthz":          "ok",
		"/api/v1/nodes/n1/proxy/disk":             `{"images":3}`,
		"/api/v1/nodes/n1/proxy/pods":             `"name":"web"`,
		"/api/v1/nodes/n1/proxy/stats/summary":    `"nodeName":"n1"`,
		"/api/v1/nodes/n1/proxy/metrics/resource": `container_memory_working_set_bytes{container="main",namespace="default",pod="web"} 6.7108864e+07`,
		"/api/v1/nodes/s2/proxy/pods":             `"items":[]`,
	} {
		if got, err := c.getRaw("", path); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, %v, want text with %q", path, got, err, want)
		}
	}
	for path, want := range map[string]string{
		"/api/v1/nodes/s2/proxy/stats/summary":       `node "s2" does not provide usage`,
		"/api/v1/nodes/n1:22/proxy/x":                `cannot proxy to port 22`,
		"/api/v1/nodes/missing/proxy/healthz":        `nodes "missing" not found`,
		"/api/v1/namespaces/default/pods/web/proxy/": `pod "web": the pod has no IP address yet`,
	} {
		if got, err := c.getRaw("", path); err == nil || !strings.Contains(got+err.Error(), want) {
			t.Errorf("%s: got %q, %v, want text with %q", path, got, err, want)
		}
	}
}

func (c *testCluster) testPermissions(t *testing.T) {
	c.grant(t, "eve", rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "eve"}, "pods/log", "pods/exec", "nodes/proxy")
	eventually(t, func() error { _, err := c.getRaw("eve", "/api/v1/nodes/n1/proxy/healthz"); return err })
	if _, err := c.impersonate("eve", c.admin).CoreV1().Pods("default").GetLogs("web", &corev1.PodLogOptions{Container: "main"}).DoRaw(t.Context()); err != nil {
		t.Errorf("logs with permission: %v", err)
	}
	if _, err := c.impersonate("bob", c.admin).CoreV1().Pods("default").GetLogs("web", &corev1.PodLogOptions{Container: "main"}).Stream(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("logs without permission: got error %v, want Forbidden", err)
	}
	eve := rest.CopyConfig(c.admin)
	eve.Impersonate.UserName = "eve"
	for name, path := range map[string]string{
		"exec":                     "/api/v1/namespaces/default/pods/web/exec?container=main&command=x&stdout=true",
		"exec through nodes/proxy": "/api/v1/nodes/n1/proxy/exec/default/web/main?command=x&output=1",
	} {
		e, err := remotecommand.NewWebSocketExecutor(eve, http.MethodGet, c.admin.Host+path)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard}); err == nil || !strings.Contains(err.Error(), "create") && !strings.Contains(err.Error(), "orbidden") {
			t.Errorf("%s over a WebSocket with only the verb get: got error %v, want a rejection", name, err)
		}
	}
}
