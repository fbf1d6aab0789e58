//go:build linux

package nodeagent

import (
	"context"
	"errors"
	"testing"

	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestRuntimeHealth(t *testing.T) {
	var h runtimeHealth
	response := func(networkReady bool, err error) func(context.Context) (*criapi.StatusResponse, error) {
		return func(context.Context) (*criapi.StatusResponse, error) {
			return &criapi.StatusResponse{Status: &criapi.RuntimeStatus{Conditions: []*criapi.RuntimeCondition{{Type: criapi.RuntimeReady, Status: true},
				{Type: criapi.NetworkReady, Status: networkReady, Reason: "NetworkPluginNotReady", Message: "cni plugin not initialized"}}}}, err
		}
	}
	for _, step := range []struct {
		name    string
		read    func(context.Context) (*criapi.StatusResponse, error)
		changed bool
		want    string
	}{
		{"ready", response(true, nil), false, ""},
		{"no network", response(false, nil), true, "container runtime NetworkReady=false: NetworkPluginNotReady: cni plugin not initialized"},
		{"still no network", response(false, nil), false, "container runtime NetworkReady=false: NetworkPluginNotReady: cni plugin not initialized"},
		{"unavailable", response(true, errors.New("refused")), true, "container runtime is down: refused"},
		{"available again", response(true, nil), true, ""},
	} {
		changed := h.check(t.Context(), step.read)
		message := ""
		if err := h.ready(""); err != nil {
			message = err.Error()
		}
		if changed != step.changed || message != step.want {
			t.Errorf("%s: changed %v, %q, want %v, %q", step.name, changed, message, step.changed, step.want)
		}
	}
}
