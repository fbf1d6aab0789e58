package workloadtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/controllers/podtemplate"
	"github.com/berthproject/berth/controllers/runner"
)

// Namespace is the namespace of all test objects.
const Namespace = "ns"

// Env is a fake API with running controllers. Once per second each pod advances one step: it is bound, runs and becomes
// ready. A deleted pod terminates, and is removed once it has no finalizer.
type Env struct {
	*testing.T
	*fake.Clientset
	Reactor
	podHook atomic.Pointer[func(p *corev1.Pod) bool]
	created int
}

// SetPodHook sets a function that may change bound pods before each step and reports whether it did. Nil removes it.
func (e *Env) SetPodHook(f func(p *corev1.Pod) bool) {
	if f == nil {
		f = func(*corev1.Pod) bool { return false }
	}
	e.podHook.Store(&f)
}

func (e *Env) runPodHook(p *corev1.Pod) bool {
	f := e.podHook.Load()
	return f != nil && (*f)(p)
}

// Controller is the Run function of a controller.
type Controller func(ctx context.Context, s *Env, factory informers.SharedInformerFactory) error

// Run runs a test with controllers.
func Run(t *testing.T, controllers []Controller, test func(s *Env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &Env{T: t, Clientset: fake.NewSimpleClientset()}
		s.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if m, ok := a.(clienttesting.CreateAction).GetObject().(metav1.Object); ok {
				s.created++
				m.SetUID(types.UID(fmt.Sprint("uid-", s.created)))
				m.SetCreationTimestamp(metav1.Now())
			}
			return false, nil, nil
		})
		s.PrependReactor("delete", "pods", s.deletePod)
		s.Install(s.Clientset)
		ctx, cancel := context.WithCancel(t.Context())
		factory := informers.NewSharedInformerFactory(s.Clientset, 0)
		done := make(chan error, len(controllers)+1)
		for _, run := range controllers {
			go func() { done <- run(ctx, s, factory) }()
		}
		go func() { done <- s.runNodes(ctx) }()
		test(s)
		cancel()
		for range len(controllers) + 1 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		factory.Shutdown()
	})
}

// Process returns the process of the test's controllers.
func (e *Env) Process(factory informers.SharedInformerFactory) runner.Process {
	return runner.Process{Environment: runner.Production(), Client: e.Clientset, Informers: factory, Log: klog.Background()}
}

// deletePod sets the deletion timestamp of a pod that runs or has a finalizer.
func (e *Env) deletePod(a clienttesting.Action) (bool, runtime.Object, error) {
	gvr, name := a.GetResource(), a.(clienttesting.DeleteAction).GetName()
	obj, err := e.Tracker().Get(gvr, Namespace, name)
	if err != nil {
		return true, nil, err
	}
	p := obj.(*corev1.Pod).DeepCopy()
	if len(p.Finalizers) == 0 && p.Status.Phase != corev1.PodRunning {
		return false, nil, nil
	}
	if p.DeletionTimestamp == nil {
		p.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	}
	return true, nil, e.Tracker().Update(gvr, p, Namespace)
}

// runNodes advances the pods until ctx is done.
func (e *Env) runNodes(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
		for _, p := range e.Pods() {
			if err := e.stepPod(ctx, &p); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
}

func (e *Env) stepPod(ctx context.Context, p *corev1.Pod) error {
	pods := e.CoreV1().Pods(Namespace)
	finished := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	switch {
	case p.DeletionTimestamp != nil && finished && len(p.Finalizers) == 0:
		return e.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), Namespace, p.Name)
	case p.DeletionTimestamp != nil && !finished:
		p.Status.Phase, p.Status.Conditions = corev1.PodFailed, nil
	case finished:
		return nil
	case p.Spec.NodeName == "":
		if p.Spec.NodeName = podtemplate.DaemonNode(p); p.Spec.NodeName == "" {
			p.Spec.NodeName = "n1"
		}
	case e.runPodHook(p):
	case p.Status.Phase == corev1.PodRunning:
		return nil
	default:
		now := metav1.Now()
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}}}
	}
	_, err := pods.Update(ctx, p, metav1.UpdateOptions{})
	return err
}

// Settle sleeps for d and waits until all goroutines are idle.
func (e *Env) Settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Pods returns the existing pods, sorted by name.
func (e *Env) Pods() []corev1.Pod {
	list, err := e.CoreV1().Pods(Namespace).List(e.Context(), metav1.ListOptions{})
	if err != nil {
		e.Error(err)
		return nil
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items
}

// AddNode creates a node.
func (e *Env) AddNode(name string) {
	e.Helper()
	if _, err := e.CoreV1().Nodes().Create(e.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		e.Fatal(err)
	}
}

// EventCount counts the events with a reason. Events of the same instant have the same name and count as one.
func (e *Env) EventCount(reason string) (n int) {
	e.Helper()
	list, err := e.CoreV1().Events(Namespace).List(e.Context(), metav1.ListOptions{})
	if err != nil {
		e.Fatal(err)
	}
	for i := range list.Items {
		if list.Items[i].Reason == reason {
			n += int(max(list.Items[i].Count, 1))
		}
	}
	return n
}

// Terminate sets a pod to a final phase.
func Terminate(p *corev1.Pod, phase corev1.PodPhase, reason string, code int32) {
	now := metav1.Now()
	p.Status.Phase, p.Status.Reason, p.Status.Conditions = phase, reason, nil
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: now}}}}
	if p.Status.StartTime == nil {
		p.Status.StartTime = &now
	}
}

// Template returns a pod template with the label app.
func Template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: app + ":1"}}}}
}
