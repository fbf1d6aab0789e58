package tables

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Table describes how objects of a kind are printed.
type Table struct {
	// Columns are in the order of the cells.
	Columns []metav1.TableColumnDefinition
	// Row returns the cells of an object. It returns an error for an object of another type.
	Row func(obj runtime.Object) ([]any, error)
}

// For returns the table of a resource. For other resources it returns name and creation time, and
// false.
func For(resource schema.GroupResource) (Table, bool) {
	for _, group := range []func(schema.GroupResource) (Table, bool){coreTable, appsTable, batchTable, networkTable, storageTable, policyTable, rbacTable, flowControlTable, resourceTable, admissionTable, networkingTable, autoscalingTable, certificatesTable} {
		if t, found := group(resource); found {
			return t, true
		}
	}
	return Table{
		Columns: []metav1.TableColumnDefinition{nameColumn(), {Name: "Created At", Type: "date", Description: "Creation time of the object."}},
		Row: func(obj runtime.Object) ([]any, error) {
			m, err := meta.Accessor(obj)
			if err != nil {
				return nil, err
			}
			return []any{m.GetName(), m.GetCreationTimestamp().UTC().Format(time.RFC3339)}, nil
		},
	}, false
}

// newTable returns a table whose rows row builds from objects of type T. The second result is true: the
// functions of the groups return both results.
func newTable[T runtime.Object](row func(T) []any, columns ...metav1.TableColumnDefinition) (Table, bool) {
	return Table{Columns: columns, Row: func(obj runtime.Object) ([]any, error) {
		typed, ok := obj.(T)
		if !ok {
			return nil, fmt.Errorf("cannot print %T: want %T", obj, typed)
		}
		return row(typed), nil
	}}, true
}

func nameColumn() metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: "Name must be unique within a namespace or cluster."}
}

func ageColumn() metav1.TableColumnDefinition {
	return stringColumn("Age", "Time since the object was created.")
}

func stringColumn(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Description: description}
}

func integerColumn(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "integer", Description: description}
}

func booleanColumn(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "boolean", Description: description}
}

// wide returns c with the priority of columns that only -o wide shows.
func wide(c metav1.TableColumnDefinition) metav1.TableColumnDefinition {
	c.Priority = 1
	return c
}

// timestampSince returns the time since t, or "<unknown>" for a zero time.
func timestampSince(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}

func age(m *metav1.ObjectMeta) string { return timestampSince(m.CreationTimestamp) }

// orNone returns "<none>" for an empty value.
func orNone(value string) string {
	if value == "" {
		return "<none>"
	}
	return value
}

func orUnknown(value string) string {
	if value == "" {
		return "<unknown>"
	}
	return value
}

func deref[T any](value *T, defaultValue T) T {
	if value == nil {
		return defaultValue
	}
	return *value
}
