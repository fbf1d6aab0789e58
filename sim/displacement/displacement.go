package displacement

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	enginedisplacement "github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/sim/store"
)

// Displacement is the displacement of a pod by an actor.
type Displacement struct {
	Pod    *corev1.Pod
	Record enginedisplacement.Record
	Grace  *int64 // nil: the pod's own
	// RespectsBudgets: the budgets allow it, and have an entry if required.
	RespectsBudgets bool
	// ResourceVersion is the required one at deletion; empty: any.
	ResourceVersion string
	Message         string // for the timeline, after the pod's key
}

// Displacing is the notice that a pod is about to be deleted by a displacement.
type Displacing struct {
	Pod          *corev1.Pod // as stored
	Displacement *Displacement
}

// Displaced is the notice that a pod was displaced.
type Displaced struct{ Cause enginedisplacement.Cause }

// Delete deletes the pod of a displacement. It sends the notices Displacing and Displaced, unless the pod was
// displaced already.
func (s *Server) Delete(d *Displacement, actor string) error {
	key := store.KeyOf(d.Pod)
	p := s.w.API().Pod(key)
	if p == nil || p.UID != d.Pod.UID {
		return apierrors.NewNotFound(corev1.Resource("pods"), d.Pod.Name)
	}
	if d.ResourceVersion != "" && p.ResourceVersion != d.ResourceVersion {
		return apierrors.NewConflict(corev1.Resource("pods"), d.Pod.Name, errors.New("the pod changed in the meantime"))
	}
	alreadyDisplaced := p.DeletionTimestamp != nil || store.Finished(p)
	if !alreadyDisplaced {
		s.w.Notify(Displacing{p, d})
	}
	if err := s.w.API().DeletePod(key, store.Precondition{UID: string(d.Pod.UID)}, d.Grace); err != nil {
		return err
	}
	if !alreadyDisplaced {
		s.w.Notify(Displaced{d.Record.Cause})
		s.w.Log(actor, "displace", key, fmt.Sprintf("%s on %s %s", key, p.Spec.NodeName, d.Message))
	}
	return nil
}
