package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apiserver/pkg/admission"
)

// tolerationSeconds is for how long a pod stays on a node that is lost, if it does not say.
const tolerationSeconds = 300

func errUnexpected(a admission.Attributes) error {
	return fmt.Errorf("unexpected type %T", a.GetObject())
}

// validNodeName keeps names out of request paths that no node can have.
func validNodeName(name string) bool {
	return len(apivalidation.NameIsDNSSubdomain(name, false)) == 0
}

type defaultTolerations struct{ *admission.Handler }

var _ admission.MutationInterface = &defaultTolerations{}

func newTolerationSeconds() *defaultTolerations {
	return &defaultTolerations{admission.NewHandler(admission.Create, admission.Update)}
}

// Admit adds a toleration for each of the two taints of lost nodes that the pod does not mention.
func (d *defaultTolerations) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !about(a, corev1.Resource("pods")) {
		return nil
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok {
		return admission.NewForbidden(a, errUnexpected(a))
	}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if mentions(pod.Spec.Tolerations, key) {
			continue
		}
		seconds := int64(tolerationSeconds)
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
		})
	}
	return nil
}

// mentions says whether a toleration is about the NoExecute taint of that key; an empty key or effect is about all.
func mentions(list []corev1.Toleration, key string) bool {
	for _, t := range list {
		if (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}
