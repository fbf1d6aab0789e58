package registry

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// tableConvertor converts objects and lists of a kind to tables.
type tableConvertor struct {
	columns []metav1.TableColumnDefinition
	row     func(runtime.Object) ([]any, error)
}

// NewTableConvertor returns a converter of objects and lists to tables, for storage without an etcd
// store.
func NewTableConvertor(columns []metav1.TableColumnDefinition, row func(runtime.Object) ([]any, error)) rest.TableConvertor {
	return tableConvertor{columns: columns, row: row}
}

// ConvertToTable returns a table with one row per object.
func (t tableConvertor) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{Rows: []metav1.TableRow{}}
	if tableOptions, ok := options.(*metav1.TableOptions); !ok || !tableOptions.NoHeaders {
		table.ColumnDefinitions = t.columns
	}
	add := func(obj runtime.Object) error {
		cells, err := t.row(obj)
		if err != nil {
			return err
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: obj}})
		return nil
	}
	if list, err := meta.ListAccessor(object); err == nil {
		table.ResourceVersion = list.GetResourceVersion()
		table.Continue = list.GetContinue()
		table.RemainingItemCount = list.GetRemainingItemCount()
		return table, meta.EachListItem(object, add)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	table.ResourceVersion = accessor.GetResourceVersion()
	return table, add(object)
}
