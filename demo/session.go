package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/internal/apierror"
)

// The priorities of the demo's pods are below the default.
const (
	lowClass, highClass       = "berth-demo-low", "berth-demo-high"
	lowPriority, highPriority = -2000, -1000
)

const cleanupTimeout = time.Minute

// session is shared by all acts.
type session struct {
	Options
	printer
	client     kubernetes.Interface
	holds      v1alpha1.Client
	pods       *podTracker
	actStarted time.Time          // start of the act
	stopWatch  context.CancelFunc // stops the pod tracker
	// pressure is the node that this act put under pressure, or nil.
	pressure *nodePressure
}

// nodePressure is a node condition and the time since which it holds. The Node object may report the condition later
// than the evicted pod does.
type nodePressure struct {
	node      string
	condition corev1.NodeConditionType
	since     time.Time
}

// newSession creates the namespace and the priority classes. Even with an error, a returned
// session must be cleaned up.
func newSession(ctx context.Context, o Options) (*session, error) {
	s := &session{Options: o, printer: printer{o.Out}, stopWatch: func() {}}
	var err error
	if s.client, err = kubernetes.NewForConfig(o.Config); err != nil {
		return nil, err
	}
	if s.holds, err = v1alpha1.NewClient(o.Config); err != nil {
		return nil, err
	}
	if err := s.removePrevious(ctx); err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	if _, err := s.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return s, err
	}
	for name, value := range map[string]int32{lowClass: lowPriority, highClass: highPriority} {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value, Description: "pods of berth demo"}
		if _, err := s.client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			return s, err
		}
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopWatch = stop
	if s.pods, err = watchPods(watching, s.client); err != nil {
		return s, err
	}
	return s, s.pods.waitFor(ctx, func() string {
		if _, err := s.client.CoreV1().ServiceAccounts(Namespace).Get(ctx, "default", metav1.GetOptions{}); err != nil {
			return "namespace " + Namespace + " has no service account (do the cluster's controllers run?): " + err.Error()
		}
		return ""
	})
}

// removePrevious removes the objects of an earlier demo that was killed.
func (s *session) removePrevious(ctx context.Context) error {
	_, err := s.client.CoreV1().Namespaces().Get(ctx, Namespace, metav1.GetOptions{})
	if err == nil {
		s.print("An earlier demo was killed. Removing its objects (namespace %s) first.", Namespace)
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	return s.removeAll(ctx)
}

// removeAll deletes the namespace and the priority classes and waits until the namespace is deleted.
func (s *session) removeAll(ctx context.Context) error {
	namespaces := s.client.CoreV1().Namespaces()
	errs := []error{apierror.IgnoreNotFound(namespaces.Delete(ctx, Namespace, metav1.DeleteOptions{}))}
	for _, name := range []string{lowClass, highClass} {
		errs = append(errs, apierror.IgnoreNotFound(s.client.SchedulingV1().PriorityClasses().Delete(ctx, name, metav1.DeleteOptions{})))
	}
	for tick := time.NewTicker(pollInterval); ; {
		_, err := namespaces.Get(ctx, Namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			tick.Stop()
			return errors.Join(errs...)
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return errors.Join(append(errs, fmt.Errorf("namespace %s still exists: %w", Namespace, ctx.Err()))...)
		case <-tick.C:
		}
	}
}

// cleanup removes everything that the demo created.
func (s *session) cleanup(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	defer s.stopWatch()
	if err := s.removeAll(ctx); err != nil {
		return fmt.Errorf("removing what the demo created: %w", err)
	}
	return nil
}

// clearAct removes an act's objects and waits until its nodes are ready for the next act.
func (s *session) clearAct(ctx context.Context) error {
	background := metav1.DeletePropagationBackground
	all := metav1.DeleteOptions{PropagationPolicy: &background}
	err := errors.Join(s.client.AppsV1().Deployments(Namespace).DeleteCollection(ctx, all, metav1.ListOptions{}),
		s.client.PolicyV1().PodDisruptionBudgets(Namespace).DeleteCollection(ctx, all, metav1.ListOptions{}))
	if err != nil {
		return err
	}
	defer func() { s.pressure = nil }()
	return s.pods.waitFor(ctx, func() string {
		if n := len(s.pods.list("")); n > 0 {
			return fmt.Sprintf("%d pods still exist", n)
		}
		return s.blockedReason(ctx)
	})
}

// blockedReason returns why a node is not ready for the next act, or "".
func (s *session) blockedReason(ctx context.Context) string {
	for _, name := range s.Nodes {
		n, err := s.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if i := slices.IndexFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key != Taint.Key }); i >= 0 {
			return fmt.Sprintf("node %s has taint %s", name, n.Spec.Taints[i].Key)
		}
		for _, c := range n.Status.Conditions {
			if c.Type != corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return fmt.Sprintf("node %s has %s", name, c.Type)
			}
			if p := s.pressure; p != nil && p.node == name && p.condition == c.Type && c.LastTransitionTime.Time.Before(p.since) {
				return fmt.Sprintf("node %s does not report %s yet", name, c.Type)
			}
		}
	}
	return ""
}
