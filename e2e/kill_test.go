package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/internal/recording"
	"github.com/berthproject/berth/internal/testkit"
)

// Each round of TestKill creates numPods pods. They fill the killNodes nodes completely, so that a lost
// or duplicate binding is detected.
const (
	numPods   = 2000
	killNodes = 20
)

// TestKill checks that no pod is lost or bound twice when `berth up` is killed while pods are created
// and then restarted. The kill is at a different point in each round.
func TestKill(t *testing.T) {
	rounds := 2
	if os.Getenv("BERTH_SOAK") != "" {
		rounds = 20
	} else {
		t.Parallel()
	}
	for i := range rounds {
		after := numPods * (2*i + 1) / (2 * rounds)
		if !t.Run(fmt.Sprintf("after %d pods", after), func(t *testing.T) { testKillRound(t, after) }) {
			return
		}
	}
	fmt.Printf("soak: kill -9 while %d pods arrive: %d rounds, no pod lost or bound twice, no node over capacity\n", numPods, rounds)
}

// testKillRound kills the server after the given number of pods and checks the pods after a restart.
func testKillRound(t *testing.T, after int) {
	h := newTestHome(t)
	address := testkit.FreeAddress(t)
	args := []string{"--listen", address, "--nodes", fmt.Sprint(killNodes), "--node-cpu", fmt.Sprint(numPods / killNodes / 10), "--node-memory", "64Gi"}
	c := h.up(args...)
	a := &acknowledgedPods{acknowledged: map[string]types.UID{}, bound: map[types.UID]string{}, boundAt: map[types.UID]time.Time{}, running: map[types.UID]bool{}}
	ctx := t.Context()
	// One watcher at a time: a difference in lag would be reported as a changed binding.
	watchCtx, stopWatch := context.WithCancel(ctx)
	a.watch(watchCtx, t, c.protobuf())

	// The kill interrupts create requests. They are repeated below.
	reached := make(chan struct{})
	var arrivals sync.WaitGroup
	arrivals.Go(func() { a.createAll(ctx, c.protobuf(), after, reached) })
	<-reached
	killed := time.Now()
	c.proc.kill()
	stopWatch()
	arrivals.Wait()
	acknowledged, boundBefore := a.counts()
	a.checkRecording(t, c, killed)

	restarted := time.Now()
	c = h.up(args...)
	ready := time.Since(restarted)
	a.checkNothingLost(t, c.protobuf())
	a.watch(ctx, t, c.protobuf())
	arrivals.Go(func() { a.createAll(ctx, c.protobuf(), numPods, nil) })
	arrivals.Wait()
	eventually(t, 2*eventTimeout, func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.bound) != numPods || len(a.running) != numPods {
			return fmt.Errorf("got %d bound and %d running pods, want %d", len(a.bound), len(a.running), numPods)
		}
		return nil
	})
	a.checkNothingLost(t, c.protobuf())
	checkNodeCapacity(t, c.pods(), c.nodes())
	t.Logf("killed with %d pods acknowledged, %d seen bound; ready again after %.1f s; all %d bound and running after %.1f s",
		acknowledged, boundBefore, ready.Seconds(), numPods, time.Since(restarted).Seconds())
	fmt.Printf("soak: killed with %d pods acknowledged, %d seen bound; all %d bound, each once, and running\n", acknowledged, boundBefore, numPods)
}

// protobuf returns a client that uses protobuf, with a separate connection.
func (c *cluster) protobuf() kubernetes.Interface {
	c.t.Helper()
	config := c.config()
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

// acknowledgedPods records what a cluster has acknowledged: which pods it created, and
// where it bound them.
type acknowledgedPods struct {
	mu           sync.Mutex
	acknowledged map[string]types.UID
	bound        map[types.UID]string
	boundAt      map[types.UID]time.Time // when the binding was observed
	running      map[types.UID]bool
	rebound      []string // descriptions of changed bindings
}

// counts returns the number of acknowledged pods and the number of bound pods.
func (a *acknowledgedPods) counts() (acknowledged, bound int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.acknowledged), len(a.bound)
}

// createAll creates all pods that are not yet acknowledged, until the server does not respond. It closes
// reached, if not nil, after want pods or when it returns.
func (a *acknowledgedPods) createAll(ctx context.Context, client kubernetes.Interface, want int, reached chan struct{}) {
	work := make(chan string, numPods)
	for i := range numPods {
		work <- fmt.Sprintf("pod-%04d", i)
	}
	close(work)
	var once sync.Once
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for name := range work {
				if !a.create(ctx, client, name) {
					return
				}
				if n, _ := a.counts(); n >= want && reached != nil {
					once.Do(func() { close(reached) })
				}
			}
		})
	}
	wg.Wait()
	if reached != nil {
		once.Do(func() { close(reached) })
	}
}

// create creates one pod. It returns false if the server does not respond. An existing pod was
// created by a request whose response was lost.
func (a *acknowledgedPods) create(ctx context.Context, client kubernetes.Interface, name string) bool {
	a.mu.Lock()
	_, done := a.acknowledged[name]
	a.mu.Unlock()
	if done {
		return true
	}
	for {
		p, err := client.CoreV1().Pods("default").Create(ctx, newArrivingPod(name), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			p, err = client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		}
		switch {
		case err == nil:
			a.mu.Lock()
			a.acknowledged[name] = p.UID
			a.mu.Unlock()
			return true
		case !apierrors.IsTooManyRequests(err):
			return false
		}
	}
}

func newArrivingPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: "main:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("100Mi"),
		}},
	}}}}
}

// watch records bindings, changes of bindings, and running pods.
func (a *acknowledgedPods) watch(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Pods().Informer()
	observe := func(obj any) {
		p, ok := obj.(*corev1.Pod)
		if !ok {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		previous := a.bound[p.UID]
		if previous != "" && previous != p.Spec.NodeName {
			a.rebound = append(a.rebound, fmt.Sprintf("pod %s was bound to %q and then to %q", p.Name, previous, p.Spec.NodeName))
		}
		if p.Spec.NodeName != "" {
			if previous == "" {
				a.boundAt[p.UID] = time.Now()
			}
			a.bound[p.UID] = p.Spec.NodeName
		}
		if p.Status.Phase == corev1.PodRunning {
			a.running[p.UID] = true
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: observe, UpdateFunc: func(_, obj any) { observe(obj) }}); err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
}

// checkNothingLost compares the pods of the server with what it acknowledged and with the
// observed bindings.
func (a *acknowledgedPods) checkNothingLost(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	list, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	existing := map[types.UID]string{}
	for i := range list.Items {
		existing[list.Items[i].UID] = list.Items[i].Spec.NodeName
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, uid := range a.acknowledged {
		if _, ok := existing[uid]; !ok {
			t.Errorf("pod %s with UID %s was acknowledged, but does not exist, want it stored", name, uid)
		}
	}
	for uid, node := range a.bound {
		if existing[uid] != node {
			t.Errorf("pod %s is bound to %q, want %s as observed before", uid, existing[uid], node)
		}
	}
	for _, message := range a.rebound {
		t.Error(message)
	}
}

// checkRecording checks the recording of a killed `berth up`: a replay gives the recorded decisions. With BERTH_SOAK, it
// also has the bindings that were observed a second before the kill.
func (a *acknowledgedPods) checkRecording(t *testing.T, c *cluster, killed time.Time) {
	t.Helper()
	segments, err := recording.Segments(filepath.Join(filepath.Dir(c.kubeconfig), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	state, err := recording.StateAt(segments, killed)
	if errors.Is(err, recording.ErrNoState) { // the kill came before the first write
		fmt.Println("soak: no step recorded")
		if os.Getenv("BERTH_SOAK") != "" {
			t.Error(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := c.run("replay", "--kubeconfig", c.kubeconfig, "--last"); r.code != 0 || !strings.Contains(r.stdout, "are identical") || strings.Contains(r.stdout, "not replayed") {
		t.Errorf("berth replay after the kill: got %s, want identical decisions of the whole run", r)
	}
	recorded := map[types.UID]string{}
	for _, p := range state.Pods() {
		recorded[types.UID(p.UID)] = p.NodeName
		if d, ok := state.LastDecision(p.UID); ok && p.NodeName == "" {
			if bind, ok := d.Effect.(scheduling.Bind); ok {
				recorded[types.UID(p.UID)] = bind.Node
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	older, missing := 0, 0
	for uid, at := range a.boundAt {
		if killed.Sub(at) < time.Second {
			continue
		}
		older++
		if recorded[uid] != a.bound[uid] {
			missing++
		}
	}
	fmt.Printf("soak: journal after kill -9: last step %v before the kill; %d of %d bindings observed a second before the kill are missing\n", killed.Sub(state.At).Round(time.Millisecond), missing, older)
	if missing > 0 && os.Getenv("BERTH_SOAK") != "" {
		t.Errorf("%d of %d bindings that were observed a second before the kill are not recorded", missing, older)
	}
}
