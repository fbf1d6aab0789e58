package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2/textlogger"
)

// TestPodCIDRLog checks that the log names the range that a node has chosen only if the API server has accepted it.
func TestPodCIDRLog(t *testing.T) {
	const chosen, failed = "the node chooses a range itself", "Failed to set a podCIDR"
	for name, tc := range map[string]struct {
		err      error
		canceled bool // the agent stops during the request
		want     []string
	}{
		"accepted":               {nil, false, []string{chosen}},
		"failed, then accepted":  {errors.New("unavailable"), false, []string{failed, chosen}},
		"failed as agent stops":  {context.Canceled, true, nil},
		"accepted as agent ends": {nil, true, []string{chosen}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			object := NewNode("n", resource.MustParse("1"), resource.MustParse("1Gi"))
			api, n, err := fake.NewClientset(object), &node{manifest: object}, tc.err
			api.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
				if tc.canceled {
					cancel()
				}
				if err == nil {
					n.observedPodCIDR.Store("10.64.0.0/24")
				}
				result := err
				err = nil
				return true, object, result
			})
			var log strings.Builder
			a := &Agent{ctx: ctx, opts: Options{Client: api, Log: textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log)))}}
			for a.choosePodCIDR(n, "10.64.0.0/24") != Never {
			}
			for _, message := range []string{chosen, failed} {
				want := strings.Contains(strings.Join(tc.want, " "), message)
				if strings.Contains(log.String(), message) != want {
					t.Errorf("log %q, want it with %q: %t", log.String(), message, want)
				}
			}
		})
	}
}
