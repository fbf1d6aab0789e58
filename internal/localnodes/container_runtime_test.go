package localnodes

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/internal/testkit"
)

// TestUseEmbedded checks the choice of the runtime, also on machines that lack the embedded runtime's requirements.
func TestUseEmbedded(t *testing.T) {
	errNoCRI := errors.New("no CRI")
	embeddedErr := ""
	if err := embedded.CheckRequirements(); err != nil {
		embeddedErr = "cannot run pods here"
	}
	for name, tc := range map[string]struct {
		requested   string
		endpointSet bool
		cri         error
		embed       bool
		want        string // of the error; "" for none
	}{
		"auto, CRI available":          {RuntimeAuto, false, nil, false, ""},
		"auto, without CRI":            {RuntimeAuto, false, errNoCRI, true, embeddedErr},
		"auto, CRI without a network":  {RuntimeAuto, false, transientError{errNoCRI}, true, embeddedErr},
		"cri, without a network":       {runtimeCRI, false, transientError{errNoCRI}, false, ""},
		"auto with --runtime-endpoint": {RuntimeAuto, true, errNoCRI, false, "no CRI"},
		"cri, not available":           {runtimeCRI, false, errNoCRI, false, "no CRI"},
		"embedded, CRI available":      {runtimeEmbedded, false, nil, true, embeddedErr},
		"embedded with a socket":       {runtimeEmbedded, true, nil, false, "--runtime-endpoint: must not be set with --runtime embedded"},
		"another runtime":              {"docker", false, nil, false, `"docker": must be auto, cri or embedded`},
	} {
		embed, err := UseEmbedded(tc.requested, tc.endpointSet, tc.cri, "")
		switch {
		case tc.want != "":
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got error %v, want %q in it", name, err, tc.want)
			}
		case err != nil || embed != tc.embed:
			t.Errorf("%s: got %v and error %v, want %v", name, embed, err, tc.embed)
		}
	}
}

// TestUseEmbeddedKeepsRunningPods checks the choice if the agent used a runtime before.
func TestUseEmbeddedKeepsRunningPods(t *testing.T) {
	if err := embedded.CheckRequirements(); err != nil {
		testkit.SkipOrFail(t, "embedded runtime", err.Error())
	}
	errNoCRI := errors.New("no CRI")
	for name, tc := range map[string]struct {
		existingFile string // file in the agent's directory
		cri          error
		embed        bool
	}{
		"no earlier runtime, CRI":                    {"", nil, false},
		"no earlier runtime, CRI without a network":  {"", transientError{errNoCRI}, true},
		"embedded with pods, CRI installed later":    {"runtime/sandboxes/s", nil, true},
		"embedded without pods, CRI installed later": {"runtime/sandboxes", nil, false},
		"cri, not responding":                        {"runtime-endpoint", transientError{errNoCRI}, false},
		"CRI removed":                                {"runtime-endpoint", errNoCRI, true},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, tc.existingFile), 0o700); err != nil {
			t.Fatal(err)
		}
		if embed, err := UseEmbedded(RuntimeAuto, false, tc.cri, dir); err != nil || embed != tc.embed {
			t.Errorf("%s: got %v and error %v, want %v", name, embed, err, tc.embed)
		}
	}
	if reason := EmbeddedReason(nil); reason == "" {
		t.Error("got no reason, want one")
	}
}

// fakeCRIRuntime is a CRI runtime with fixed answers.
type fakeCRIRuntime struct {
	criapi.UnimplementedRuntimeServiceServer
	network bool
}

func (m *fakeCRIRuntime) Version(context.Context, *criapi.VersionRequest) (*criapi.VersionResponse, error) {
	return &criapi.VersionResponse{RuntimeName: "test", RuntimeApiVersion: "v1"}, nil
}

func (m *fakeCRIRuntime) Status(context.Context, *criapi.StatusRequest) (*criapi.StatusResponse, error) {
	return &criapi.StatusResponse{Status: &criapi.RuntimeStatus{Conditions: []*criapi.RuntimeCondition{
		{Type: criapi.RuntimeReady, Status: true}, {Type: criapi.NetworkReady, Status: m.network, Reason: "NetworkPluginNotReady", Message: "cni plugin not initialized"}}}}, nil
}

// TestCheckCRI checks that a socket alone is not enough, and which errors are transient.
func TestCheckCRI(t *testing.T) {
	for name, tc := range map[string]struct {
		serve     func(*grpc.Server) // nil: nothing listens
		want      string             // of the error; "" for none
		transient bool
	}{
		"available":       {func(s *grpc.Server) { criapi.RegisterRuntimeServiceServer(s, &fakeCRIRuntime{network: true}) }, "", false},
		"CRI is disabled": {func(*grpc.Server) {}, "does not serve CRI v1", false},
		"no network":      {func(s *grpc.Server) { criapi.RegisterRuntimeServiceServer(s, &fakeCRIRuntime{}) }, "NetworkReady=false: NetworkPluginNotReady: cni plugin", true},
		"a stale socket":  {nil, "does not respond", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("/tmp", "bc")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			socket := filepath.Join(dir, "s")
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			if tc.serve == nil {
				l.SetUnlinkOnClose(false)
				_ = l.Close()
			} else {
				s := grpc.NewServer()
				tc.serve(s)
				go func() { _ = s.Serve(l) }()
				defer s.Stop()
			}
			err = CheckCRI(RuntimeAuto, "unix://"+socket)
			if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), socket)) {
				t.Errorf("got error %v, want %q and the socket in it", err, tc.want)
			}
			if transient := err != nil && PermanentError(err) == nil; transient != tc.transient {
				t.Errorf("%v: got transient %t, want %t", err, transient, tc.transient)
			}
			if err := CheckCRI(runtimeEmbedded, "unix://"+socket); err != nil {
				t.Errorf("embedded runtime: got error %v, want none", err)
			}
		})
	}
}
