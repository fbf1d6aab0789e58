package flowcontrol

import (
	"slices"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestSubjectErrorsAreOrdered checks that the errors of a subject are always in the same order.
func TestSubjectErrorsAreOrdered(t *testing.T) {
	s := flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindServiceAccount, User: &flowcontrolv1.UserSubject{Name: "u"}, Group: &flowcontrolv1.GroupSubject{Name: "g"}}
	want := []string{
		"subject.group: Forbidden: group is forbidden when subject kind is not 'Group'",
		"subject.serviceAccount: Required value: serviceAccount is required when subject kind is 'ServiceAccount'",
		"subject.user: Forbidden: user is forbidden when subject kind is not 'User'",
	}
	for range 20 {
		var got []string
		for _, err := range validateSubject(s, field.NewPath("subject")) {
			got = append(got, err.Error())
		}
		if !slices.Equal(got, want) {
			t.Fatalf("errors %q, want %q", got, want)
		}
	}
}
