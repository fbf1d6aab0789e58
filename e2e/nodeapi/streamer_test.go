package nodeapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/httpstream/spdy"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/fake"
)

// streamingRuntime is a runtime that serves streams over SPDY as containerd does. Commands print their
// arguments, and ports respond with their number and the first line that they receive.
type streamingRuntime struct {
	*fake.Service
	server *httptest.Server

	mu   sync.Mutex
	exec []*cri.ExecRequest
}

func newStreamingRuntime(t *testing.T) *streamingRuntime {
	s := &streamingRuntime{Service: fake.New("img")}
	mux := http.NewServeMux()
	mux.HandleFunc("/exec/{n}", func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscan(r.PathValue("n"), &n)
		s.mu.Lock()
		request := s.exec[n]
		s.mu.Unlock()
		run(w, r, request.Stdin, request.Stdout, request.Stderr, strings.Join(request.Cmd, " "))
	})
	mux.HandleFunc("/attach", func(w http.ResponseWriter, r *http.Request) { run(w, r, false, true, false, "attached") })
	mux.HandleFunc("/portforward", forward)
	s.server = httptest.NewServer(mux)
	t.Cleanup(s.server.CloseClientConnections)
	return s
}

func (s *streamingRuntime) Exec(_ context.Context, r *cri.ExecRequest) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exec = append(s.exec, r)
	return fmt.Sprintf("%s/exec/%d", s.server.URL, len(s.exec)-1), nil
}

func (s *streamingRuntime) Attach(context.Context, *cri.AttachRequest) (string, error) {
	return s.server.URL + "/attach", nil
}

func (s *streamingRuntime) PortForward(context.Context, *cri.PortForwardRequest) (string, error) {
	return s.server.URL + "/portforward", nil
}

// accept upgrades a connection and returns a channel of the streams that the client opens. The connection is
// nil if the handshake failed.
func accept(w http.ResponseWriter, r *http.Request, protocols ...string) (httpstream.Connection, chan httpstream.Stream) {
	if _, err := httpstream.Handshake(r, w, protocols); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, nil
	}
	opened := make(chan httpstream.Stream, 20)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, replied <-chan struct{}) error {
		go func() {
			<-replied
			opened <- stream
		}()
		return nil
	})
	return conn, opened
}

// run simulates a command. It prints the command to stdout and "warning" to stderr, and prints stdin in upper case. It
// exits with code 7 if the command is "exit 7".
func run(w http.ResponseWriter, r *http.Request, stdin, stdout, stderr bool, command string) {
	conn, opened := accept(w, r, "v4.channel.k8s.io")
	if conn == nil {
		return
	}
	defer conn.Close()
	want := 1 // the error stream
	for _, requested := range []bool{stdin, stdout, stderr} {
		if requested {
			want++
		}
	}
	streams := map[string]httpstream.Stream{}
	for len(streams) < want {
		select {
		case s := <-opened:
			streams[s.Headers().Get("streamType")] = s
		case <-conn.CloseChan():
			return
		}
	}
	if stdout {
		fmt.Fprintln(streams["stdout"], command)
	}
	if stderr {
		fmt.Fprintln(streams["stderr"], "warning")
	}
	if stdin {
		text, _ := io.ReadAll(streams["stdin"])
		fmt.Fprint(streams["stdout"], strings.ToUpper(string(text)))
	}
	status := metav1.Status{Status: metav1.StatusSuccess}
	if command == "exit 7" {
		status = metav1.Status{Status: metav1.StatusFailure, Reason: "NonZeroExitCode", Message: "command terminated with non-zero exit code",
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "ExitCode", Message: "7"}}}}
	}
	_ = json.NewEncoder(streams["error"]).Encode(status)
	for _, s := range streams {
		_ = s.Close()
	}
	<-conn.CloseChan() // the client has read everything
}

// forward responds to the first line of each data stream with the port and the line.
func forward(w http.ResponseWriter, r *http.Request) {
	conn, opened := accept(w, r, "portforward.k8s.io")
	if conn == nil {
		return
	}
	defer conn.Close()
	for {
		select {
		case s := <-opened:
			if s.Headers().Get("streamType") == "error" {
				_ = s.Close()
				continue
			}
			go func() {
				line, _ := bufio.NewReader(s).ReadString('\n')
				fmt.Fprintf(s, "%s %s", s.Headers().Get("port"), line)
				_ = s.Close()
			}()
		case <-conn.CloseChan():
			return
		}
	}
}
