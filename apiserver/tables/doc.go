// Package tables defines the columns of kubectl get for each kind. The registry returns them to
// clients that request a Table. kubectl shows columns of priority 1 with -o wide only.
//
// Names, types, formats, priorities and cells are those of kube-apiserver v1.36. A row has as many
// cells as there are columns. The descriptions of columns differ from kube-apiserver, and rows have
// no conditions.
package tables
