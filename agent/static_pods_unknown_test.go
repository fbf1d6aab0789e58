package agent_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
)

// orphanRuntime records the pods that RemoveOrphans keeps.
type orphanRuntime struct {
	*simulated.Runtime
	kept atomic.Pointer[map[types.UID]bool]
}

func (r *orphanRuntime) RemoveOrphans(existing map[types.UID]bool) { r.kept.Store(&existing) }

// TestUnknownStaticPodsDoNotBlock starts an agent whose static pods cannot be read. It runs the pods of the API, and removes
// neither orphaned pods nor mirror pods before it has read the static pods.
func TestUnknownStaticPodsDoNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mirror := staticPod("web-n0", "hash1")
		mirror.UID = "mirror"
		api := fake.NewClientset(pod("a", func(*corev1.Pod) {}), mirror)
		source, orphans := make(chan []*corev1.Pod, 1), &orphanRuntime{}
		a, stop := startAgent(t, api, func(o *agent.Options) {
			o.StaticPods = source
			o.Runtime = func(report func(runtime.Report)) runtime.Runtime {
				orphans.Runtime = simulated.New(report)
				return orphans
			}
		})
		defer stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if p := get(t, api, "a"); p.Status.Phase != corev1.PodRunning {
			t.Errorf("pod a is %q, want Running", p.Status.Phase)
		}
		if kept := orphans.kept.Load(); kept != nil {
			t.Errorf("orphans are removed, except %v", *kept)
		}
		get(t, api, "web-n0")
		source <- []*corev1.Pod{staticPod("web-n0", "hash1")}
		time.Sleep(time.Minute)
		synctest.Wait()
		if kept := orphans.kept.Load(); kept == nil || !(*kept)["a"] || !(*kept)["hash1"] || len(*kept) != 2 {
			t.Errorf("orphans are removed, except %v, want all except a and the static pod", kept)
		}
		if active := a.Pods("n0"); len(active) != 2 {
			t.Errorf("%d active pods, want 2", len(active))
		}
		if p := get(t, api, "web-n0"); p.UID != "mirror" {
			t.Errorf("the mirror pod is %s, want the one that existed", p.UID)
		}
	})
}
