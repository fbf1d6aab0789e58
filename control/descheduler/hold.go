package descheduler

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/engine/model"
)

// madeBy is the label that says who made a Hold.
const madeBy = "berth.dev/made-by"

// holding is how long the API server may take over a Hold.
const holding = 15 * time.Second

// hold makes a Hold, or makes ours of that name what it is to be. Final: it is no use to try again.
func (r *Runner) hold(ctx context.Context, h *model.Hold) (err error, final bool) {
	ctx, cancel := context.WithTimeout(ctx, holding)
	defer cancel()
	holds, want := r.o.Holds.Holds(h.Namespace), holdOf(h)
	_, err = holds.Create(ctx, want, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err, apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
	}
	have, err := holds.Get(ctx, h.Name, metav1.GetOptions{})
	if err != nil {
		return err, false
	}
	if by := have.Labels[madeBy]; by != Component && have.Spec.Until.After(time.Now()) {
		return foreign(have), true
	}
	next := have.DeepCopy()
	next.Labels, next.Spec = want.Labels, want.Spec
	_, err = holds.Update(ctx, next, metav1.UpdateOptions{})
	return err, apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
}

// release deletes a Hold of ours, and nobody else's.
func (r *Runner) release(ctx context.Context, h *model.Hold) (err error, final bool) {
	ctx, cancel := context.WithTimeout(ctx, holding)
	defer cancel()
	holds := r.o.Holds.Holds(h.Namespace)
	have, err := holds.Get(ctx, h.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, false
	}
	if err != nil {
		return err, apierrors.IsForbidden(err)
	}
	if have.Labels[madeBy] != Component {
		return foreign(have), true
	}
	err = holds.Delete(ctx, h.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &have.UID, ResourceVersion: &have.ResourceVersion}})
	if apierrors.IsNotFound(err) {
		return nil, false
	}
	return err, apierrors.IsForbidden(err)
}

func foreign(h *v1alpha1.Hold) error {
	by := h.Labels[madeBy]
	if by == "" {
		by = "somebody else"
	}
	return fmt.Errorf("hold %s/%s was made by %s", h.Namespace, h.Name, by)
}

// holdOf is a Hold as the API has it.
func holdOf(h *model.Hold) *v1alpha1.Hold {
	o := h.Owner
	out := &v1alpha1.Hold{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: h.Name, Labels: map[string]string{madeBy: Component}},
		Spec: v1alpha1.HoldSpec{Type: v1alpha1.HoldType(h.Type.String()), Node: h.Node, Cause: h.Cause, Count: h.Count,
			Owner: v1alpha1.Owner{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: types.UID(o.UID)},
			// The API keeps whole seconds; a Hold must not end before its time.
			Until: metav1.NewTime(h.Until.Add(time.Second - 1).UTC().Truncate(time.Second))},
	}
	if h.Victim != "" {
		out.Spec.Victim = &v1alpha1.Victim{Name: h.VictimName, UID: types.UID(h.Victim)}
	}
	if p := h.Phantom; p != nil && out.Spec.Victim != nil {
		v := out.Spec.Victim
		v.Priority, v.Requests = p.Spec.Priority, amounts(&p.Spec.Requests)
		for _, l := range p.Labels {
			if v.Labels == nil {
				v.Labels = map[string]string{}
			}
			v.Labels[l.Key] = l.Value
		}
		for _, port := range p.Spec.Ports {
			v.HostPorts = append(v.HostPorts, v1alpha1.HostPort{HostIP: port.IP, Protocol: corev1.Protocol(port.Protocol), Port: port.Port})
		}
	}
	return out
}

// amounts are requests as the API has them.
func amounts(r *model.Requests) corev1.ResourceList {
	out := corev1.ResourceList{}
	put := func(name corev1.ResourceName, q *resource.Quantity) {
		if !q.IsZero() {
			out[name] = *q
		}
	}
	put(corev1.ResourceCPU, resource.NewMilliQuantity(r.MilliCPU, resource.DecimalSI))
	put(corev1.ResourceMemory, resource.NewQuantity(r.Memory, resource.BinarySI))
	put(corev1.ResourceEphemeralStorage, resource.NewQuantity(r.Ephemeral, resource.BinarySI))
	for _, s := range r.Scalars {
		put(corev1.ResourceName(s.Name), resource.NewQuantity(s.Amount, resource.DecimalSI))
	}
	return out
}
