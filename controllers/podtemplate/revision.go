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

// maxRevisionPrefixLen is the maximum length of the owner's name in a revision's name.
const maxRevisionPrefixLen = 223

// Patch returns a template as stored in a ControllerRevision: the strategic merge patch that restores it in
// the owner. kubectl uses it for rollbacks.
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

// TemplateOf returns the template of a ControllerRevision.
func TemplateOf(r *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var owner struct {
		Spec struct{ Template corev1.PodTemplateSpec }
	}
	if err := json.Unmarshal(r.Data.Raw, &owner); err != nil {
		return nil, fmt.Errorf("controllerrevision %s/%s: data is not a template: %w", r.Namespace, r.Name, err)
	}
	return &owner.Spec.Template, nil
}

// RevisionMatches reports whether a revision contains a template, regardless of its encoding.
func RevisionMatches(r *appsv1.ControllerRevision, t *corev1.PodTemplateSpec) bool {
	template, err := TemplateOf(r)
	return err == nil && equality.Semantic.DeepEqual(template, t)
}

// Revision returns the ControllerRevision of a template. collisions, which may be nil, changes the hash. hashLabel is
// the label for the hash. The annotations of o are copied.
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
