package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"
)

// NodeTolerationSeconds are the default tolerationSeconds for not-ready and unreachable nodes.
type NodeTolerationSeconds struct{ NotReady, Unreachable int64 }

// DefaultNodeTolerationSeconds returns the defaults of kube-apiserver, 300 s each.
func DefaultNodeTolerationSeconds() NodeTolerationSeconds {
	return NodeTolerationSeconds{NotReady: 300, Unreachable: 300}
}

// defaultTolerations adds tolerations for not-ready and unreachable nodes.
type defaultTolerations struct {
	*admission.Handler
	seconds NodeTolerationSeconds
}

var _ admission.MutationInterface = &defaultTolerations{}

func newDefaultTolerations(tolerationSeconds NodeTolerationSeconds) *defaultTolerations {
	return &defaultTolerations{admission.NewHandler(admission.Create, admission.Update), tolerationSeconds}
}

// Admit adds a toleration for each of the two taints that the pod does not tolerate yet.
func (d *defaultTolerations) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !isForResource(a, corev1.Resource("pods")) {
		return nil
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return admission.NewForbidden(a, unexpectedTypeError(a))
	}
	for _, taint := range []struct {
		key     string
		seconds int64
	}{{corev1.TaintNodeNotReady, d.seconds.NotReady}, {corev1.TaintNodeUnreachable, d.seconds.Unreachable}} {
		if toleratesNoExecute(pod.Spec.Tolerations, taint.key) {
			continue
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: taint.key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &taint.seconds,
		})
	}
	return nil
}

// toleratesNoExecute reports whether a toleration matches the NoExecute taint with the key. An
// empty key or effect matches any.
func toleratesNoExecute(list []corev1.Toleration, key string) bool {
	for _, t := range list {
		if (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}
