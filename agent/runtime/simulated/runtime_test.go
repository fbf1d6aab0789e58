package simulated_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/simulated"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// recorded returns a runtime, and a function that returns the reports since its last call, each with the time since now.
func recorded() (r *simulated.Runtime, reports func() []string) {
	start := time.Now()
	var mu sync.Mutex
	var list []string
	r = simulated.New(func(r runtime.Report) {
		text := ""
		switch e := r.Event.(type) {
		case podlifecycle.Started:
			text = "started " + e.Container
		case podlifecycle.Exited:
			text = fmt.Sprintf("exited %s %d %s", e.Container, e.Code, e.Reason)
		}
		mu.Lock()
		defer mu.Unlock()
		list = append(list, fmt.Sprintf("%v %s", time.Since(start), text))
	})
	return r, func() []string {
		mu.Lock()
		defer mu.Unlock()
		out := list
		list = nil
		return out
	}
}

func newPod(uid types.UID, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid, Annotations: annotations}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
}

// TestStartSeconds checks that a container takes time to start, counts its run time from then on, and never runs if it
// is stopped before.
func TestStartSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, reports := recorded()
		annotations := map[string]string{simulated.StartSeconds: "3", simulated.RunSeconds: "10"}
		r.Start(newPod("a", annotations), "c", 0)
		r.Start(newPod("b", annotations), "c", 0)
		time.Sleep(time.Second)
		r.Stop("b", "c")
		time.Sleep(time.Minute)
		if got, want := reports(), []string{"1s exited c 137 ContainerStatusUnknown", "3s started c", "13s exited c 0 "}; !slices.Equal(got, want) {
			t.Errorf("reports %q, want %q", got, want)
		}
	})
}

// TestContainersOutliveAnAgent checks that a second agent finds the containers of the first one, and that the start of an
// existing attempt only reports its state.
func TestContainersOutliveAnAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, reports := recorded()
		short, long, starting := newPod("a", map[string]string{simulated.RunSeconds: "5", simulated.ExitCode: "7"}), newPod("b", nil), newPod("c", map[string]string{simulated.StartSeconds: "9"})
		for _, p := range []*corev1.Pod{short, long, starting} {
			r.Start(p, "c", 2)
		}
		time.Sleep(6 * time.Second)
		reports()
		if got := r.ExistingContainers(short); len(got) != 1 || got[0].State != podlifecycle.ContainerTerminated || got[0].Exit.Code != 7 || got[0].Restarts != 2 {
			t.Errorf("containers %+v of the pod that has exited, want one with exit code 7 and attempt 2", got)
		}
		if got := r.ExistingContainers(long); len(got) != 1 || got[0].State != podlifecycle.ContainerRunning {
			t.Errorf("containers %+v of the running pod, want one that runs", got)
		} else {
			r.Resume(long, "c", got[0])
		}
		if got := r.ExistingContainers(starting); got != nil {
			t.Errorf("containers %+v of the starting pod, want none", got)
		}
		r.Start(short, "c", 2)
		r.Start(starting, "c", 2)
		time.Sleep(time.Minute)
		if got, want := reports(), []string{"6s started c", "6s exited c 7 ", "9s started c"}; !slices.Equal(got, want) {
			t.Errorf("reports %q, want %q", got, want)
		}
		r.RemoveOrphans(map[types.UID]bool{"a": true})
		if r.ExistingContainers(short) == nil || r.ExistingContainers(long) != nil {
			t.Error("want the containers of the existing pod only")
		}
	})
}
