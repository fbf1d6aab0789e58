package scheduler

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/scheduling"
)

// Stepped is the notice of a step, before its effects are executed.
type Stepped struct{ Effects []scheduling.Effect }

// BindSent is the notice that a bind was sent.
type BindSent struct {
	Pod  *model.Pod
	Node string
}

// Rejected is the notice of a failed scheduling attempt.
type Rejected struct{}

// Preempting is the notice that a victim is about to be deleted.
type Preempting struct {
	Preemptor *model.Pod
	Victim    *corev1.Pod // as stored
	Choice    int
}

// Preempted is the notice that a victim was deleted.
type Preempted struct {
	Preemptor *model.Pod
	Victim    *corev1.Pod // before the deletion
}
