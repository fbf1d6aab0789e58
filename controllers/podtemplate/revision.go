package podtemplate

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
)

// maxRevisionPrefixLen is how much of the owner's name stands in that of a revision.
const maxRevisionPrefixLen = 223

// Patch is a template as a ControllerRevision keeps it: the strategic merge patch that puts it into
// the owner, which is how kubectl rolls back.
func Patch(t *corev1.PodTemplateSpec) ([]byte, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("writing the template: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("reading the template back: %w", err)
	}
	fields["$patch"] = "replace"
	return json.Marshal(map[string]any{"spec": map[string]any{"template": fields}})
}

// TemplateOf is the template that a ControllerRevision keeps.
func TemplateOf(r *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var owner struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	if err := json.Unmarshal(r.Data.Raw, &owner); err != nil {
		return nil, fmt.Errorf("controllerrevision %s/%s: its data is no template: %w", r.Namespace, r.Name, err)
	}
	return &owner.Spec.Template, nil
}

// RevisionMatches says whether a revision keeps a template, whatever bytes it is written in.
func RevisionMatches(r *appsv1.ControllerRevision, t *corev1.PodTemplateSpec) bool {
	template, err := TemplateOf(r)
	return err == nil && equality.Semantic.DeepEqual(template, t)
}

// Revision makes the ControllerRevision of a template; collisions (nil: none) makes another name of the same one.
// hashLabel names the label that carries the hash. The object's annotations go with it.
func Revision(o metav1.Object, owner metav1.OwnerReference, t *corev1.PodTemplateSpec, hashLabel string, revision int64, collisions *int32) (*appsv1.ControllerRevision, error) {
	data, err := Patch(t)
	if err != nil {
		return nil, err
	}
	h := fnv.New32()
	h.Write(data)
	if collisions != nil {
		fmt.Fprint(h, *collisions)
	}
	hash := rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
	labels := maps.Clone(t.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[hashLabel] = hash
	prefix := o.GetName()
	prefix = prefix[:min(len(prefix), maxRevisionPrefixLen)]
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.GetNamespace(), Name: prefix + "-" + hash, Labels: labels, Annotations: maps.Clone(o.GetAnnotations()),
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: revision,
	}, nil
}
