package journal

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

const (
	// Annotation is the event annotation that holds a displacement record.
	Annotation = "berth.dev/displacement"
	// Label is the label of such events; its value is the cause.
	Label = "berth.dev/displaced-by"
)

// Displacement is a displacement record.
type Displacement struct {
	Time  time.Time `json:"time"` // of the decision, if known
	Pod   Pod       `json:"pod"`
	Owner *Owner    `json:"owner,omitempty"` // controller of the pod
	Node  string    `json:"node,omitempty"`  // node of the pod
	Cause string    `json:"cause"`           // by displacement.Cause.String
	// Reason and Message are those of the DisruptionTarget condition.
	Reason      string `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"`
	RequestedBy string `json:"requestedBy,omitempty"` // a user or a component
	Preemptor   *Pod   `json:"preemptor,omitempty"`
	Rule        string `json:"rule,omitempty"` // with numbers
	// Budgets are the effects on disruption budgets.
	Budgets      []Budget `json:"budgets,omitempty"`
	GraceSeconds *int64   `json:"graceSeconds,omitempty"` // absent: the pod's own
	// Writer is the component that wrote the record.
	Writer string `json:"writer,omitempty"`
	// Reconstructed is set if the displacing component wrote no record. This one is derived from the pod's condition
	// and events.
	Reconstructed bool `json:"reconstructed,omitempty"`

	Deleted     *time.Time   `json:"deleted,omitempty"` // when the end of the pod was observed
	Replacement *Replacement `json:"replacement,omitempty"`
}

// Pod identifies a pod.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	Priority  int32  `json:"priority,omitempty"`
	// Created is the creation time, if known.
	Created *time.Time `json:"created,omitempty"`
}

// Key returns "namespace/name".
func (p Pod) Key() string { return p.Namespace + "/" + p.Name }

// ID returns "namespace/name/UID". The UID alone may not be unique, because clients choose the UIDs in their own
// events.
func (p Pod) ID() string { return p.Key() + "/" + p.UID }

// Owner identifies a controller.
type Owner struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"`
}

// Budget is the effect on a disruption budget of the pod's namespace.
type Budget struct {
	Name      string `json:"name"`
	Before    int32  `json:"before"`              // allowed disruptions before the displacement
	After     int32  `json:"after"`               // allowed disruptions after it
	Overruled bool   `json:"overruled,omitempty"` // the budget did not allow the disruption
}

// Replacement is the pod that replaced the displaced one.
type Replacement struct {
	Name      string     `json:"name"`
	UID       string     `json:"uid,omitempty"`
	Node      string     `json:"node,omitempty"`
	Created   *time.Time `json:"created,omitempty"`
	Scheduled *time.Time `json:"scheduled,omitempty"`
	Ready     *time.Time `json:"ready,omitempty"`
}

// NewDisplacement converts a record to its JSON form.
func NewDisplacement(r *displacement.Record, at time.Time, writer string) *Displacement {
	v := r.Victim
	d := &Displacement{Time: at.UTC().Truncate(time.Microsecond), Pod: newPod(v), Node: r.Node, Cause: r.Cause.String(), Reason: r.Cause.Reason(),
		Message: r.Message(), RequestedBy: r.Requester, Rule: r.Rule, GraceSeconds: r.Grace, Writer: writer}
	if d.Node == "" {
		d.Node = v.NodeName
	}
	if o := v.Owner; o.UID != "" {
		d.Owner = &Owner{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID}
	}
	if r.Preemptor != nil {
		p := newPod(r.Preemptor)
		d.Preemptor = &p
	}
	for _, e := range r.Entries {
		d.Budgets = append(d.Budgets, Budget{Name: e.Budget, Before: e.Before, After: e.After, Overruled: e.Overruled})
	}
	return d
}

func newPod(p *model.Pod) Pod {
	out := Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID}
	if !p.Created.IsZero() {
		at := p.Created.UTC()
		out.Created = &at
	}
	if p.Spec != nil {
		out.Priority = p.Spec.Priority
	}
	return out
}

// JSON returns the record as one line of JSON, without a newline.
func (d *Displacement) JSON() (string, error) {
	data, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("record of pod %s: %w", d.Pod.Key(), err)
	}
	return string(data), nil
}

// ParseDisplacement parses the output of JSON.
func ParseDisplacement(text string) (*Displacement, error) {
	d := &Displacement{}
	if err := json.Unmarshal([]byte(text), d); err != nil {
		return nil, fmt.Errorf("parsing a displacement record: %w", err)
	}
	if d.Pod.Namespace == "" || d.Pod.Name == "" || d.Cause == "" {
		return nil, fmt.Errorf("displacement %.100q: pod.namespace, pod.name and cause must be given", text)
	}
	return d, nil
}
