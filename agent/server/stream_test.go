package server

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// streamRuntime has one running container, and returns url for each stream. Without a url, its calls do not return
// before their context ends.
type streamRuntime struct {
	runtime.Service
	url string
}

func (f *streamRuntime) ListContainers(context.Context, *cri.ContainerFilter) ([]*cri.Container, error) {
	return []*cri.Container{{Id: "c1", State: cri.ContainerState_CONTAINER_RUNNING}}, nil
}

func (f *streamRuntime) ListPodSandbox(context.Context, *cri.PodSandboxFilter) ([]*cri.PodSandbox, error) {
	return []*cri.PodSandbox{{Id: "s1"}}, nil
}

func (f *streamRuntime) open(ctx context.Context) (string, error) {
	if f.url == "" {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return f.url, nil
}

func (f *streamRuntime) Exec(ctx context.Context, _ *cri.ExecRequest) (string, error) {
	return f.open(ctx)
}

func (f *streamRuntime) Attach(ctx context.Context, _ *cri.AttachRequest) (string, error) {
	return f.open(ctx)
}

func (f *streamRuntime) PortForward(ctx context.Context, _ *cri.PortForwardRequest) (string, error) {
	return f.open(ctx)
}

// streamHandlers returns handlers of a pod's streams, which must start within limit.
func streamHandlers(r runtime.Service, limit time.Duration) map[string]http.HandlerFunc {
	s := &Server{streamStart: limit}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	n := &Node{Name: "n1", Runtime: r, Pods: func() []*corev1.Pod { return []*corev1.Pod{pod} }}
	handlers := map[string]http.HandlerFunc{}
	for name, serve := range map[string]func(http.ResponseWriter, *http.Request, *Node){"exec": s.exec, "attach": s.attach, "portForward": s.portForward} {
		handlers[name] = func(w http.ResponseWriter, r *http.Request) {
			r.SetPathValue("namespace", "default")
			r.SetPathValue("pod", "web")
			r.SetPathValue("container", "c")
			serve(w, r, n)
		}
	}
	return handlers
}

// upgrade requests a stream of a server, and returns the connection and the response.
func upgrade(t *testing.T, server *httptest.Server) (net.Conn, *bufio.Reader, *http.Response) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	_, err = io.WriteString(conn, "POST /?command=true&output=1 HTTP/1.1\r\nHost: n1\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return conn, reader, response
}

// TestStreamStartDeadline checks that a stream fails in time if the runtime never answers: neither the call, nor on the
// connection to its streaming server.
func TestStreamStartDeadline(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections in its backlog only
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for stage, r := range map[string]*streamRuntime{"call": {}, "streaming server": {url: "http://" + silent.Addr().String() + "/exec/token"}} {
		for name, handler := range streamHandlers(r, 200*time.Millisecond) {
			server := httptest.NewServer(handler)
			_, _, response := upgrade(t, server)
			body, _ := io.ReadAll(response.Body)
			if response.StatusCode != http.StatusGatewayTimeout || !strings.Contains(string(body), "did not answer within 200ms") {
				t.Errorf("%s without an answer of the %s: status %d, %q, want 504 with the limit", name, stage, response.StatusCode, body)
			}
			server.Close()
		}
	}
}

// TestStreamOutlivesStartDeadline checks that the deadline of the start does not end a stream.
func TestStreamOutlivesStartDeadline(t *testing.T) {
	limit := 500 * time.Millisecond
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
		_, _ = io.Copy(conn, buffered)
	}))
	defer backend.Close()
	server := httptest.NewServer(streamHandlers(&streamRuntime{url: backend.URL}, limit)["exec"])
	defer server.Close()
	conn, reader, response := upgrade(t, server)
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("status %d, want 101", response.StatusCode)
	}
	time.Sleep(2 * limit)
	if _, err := io.WriteString(conn, "echo\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := reader.ReadString('\n'); line != "echo\n" {
		t.Errorf("read %q (%v) from the stream after the deadline of its start, want the echo", line, err)
	}
}
