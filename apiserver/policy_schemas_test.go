package apiserver

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestGroupRevisions checks that each change of the definitions of a group changes the revision of this group only.
func TestGroupRevisions(t *testing.T) {
	definition := func(group, name, version string) *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name + "." + group, ResourceVersion: version},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: group}}
	}
	other := definition("other", "c", "7")
	a, b := definition("group", "a", "99"), definition("group", "b", "98")
	before := groupRevisions([]*apiextensionsv1.CustomResourceDefinition{a, b, other})
	if same := groupRevisions([]*apiextensionsv1.CustomResourceDefinition{other, b, a}); same["group"] != before["group"] {
		t.Errorf("another order: got revision %s, want %s", same["group"], before["group"])
	}
	for name, changed := range map[string][]*apiextensionsv1.CustomResourceDefinition{
		"more digits":             {definition("group", "a", "100"), b, other},
		"change of the older one": {a, definition("group", "b", "100"), other},
		"deletion":                {a, other},
		"creation":                {a, b, definition("group", "d", "101"), other},
	} {
		after := groupRevisions(changed)
		if after["group"] == before["group"] || after["other"] != before["other"] {
			t.Errorf("%s: got revisions %v, want a change of group only in %v", name, after, before)
		}
	}
}
