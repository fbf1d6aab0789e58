package quantities

import (
	"reflect"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

var quantityType = reflect.TypeFor[resource.Quantity]()

// node describes the fields of a type that contain quantities. A nil node contains none.
type node struct {
	goType   reflect.Type
	quantity bool
	byName   map[string]*node // struct: by JSON name
	byNumber map[int]*node    // struct: by protobuf field number
	element  *node            // slice or map
	isMap    bool
}

// nodes maps types to nodes. It is filled on demand.
var nodes sync.Map // reflect.Type to *node

// nodeOf returns the node of a type, or nil if the type contains no quantities. Recursive types in Kubernetes' API
// contain none outside of the recursion.
func nodeOf(t reflect.Type) *node {
	if n, ok := nodes.Load(t); ok {
		return n.(*node)
	}
	n := newNode(t, map[reflect.Type]bool{})
	nodes.Store(t, n)
	return n
}

func newNode(t reflect.Type, parents map[reflect.Type]bool) *node {
	switch {
	case t == quantityType:
		return &node{goType: t, quantity: true}
	case t.Kind() == reflect.Pointer:
		return newNode(t.Elem(), parents)
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		if element := newNode(t.Elem(), parents); element != nil {
			return &node{goType: t, element: element, isMap: t.Kind() == reflect.Map}
		}
	case t.Kind() == reflect.Struct && !parents[t]:
		parents[t] = true
		defer delete(parents, t)
		return structNode(t, parents)
	}
	return nil
}

func structNode(t reflect.Type, parents map[reflect.Type]bool) *node {
	n := &node{goType: t, byName: map[string]*node{}, byNumber: map[int]*node{}}
	for i := range t.NumField() {
		f := t.Field(i)
		child := newNode(f.Type, parents)
		if child == nil || !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && (f.Anonymous || strings.Contains(options, "inline")) {
			for name, grandchild := range child.byName {
				n.byName[name] = grandchild
			}
		} else {
			n.byName[name] = child
		}
		if tag := strings.Split(f.Tag.Get("protobuf"), ","); len(tag) > 1 {
			if number, err := strconv.Atoi(tag[1]); err == nil {
				n.byNumber[number] = child
			}
		}
	}
	if len(n.byName) == 0 {
		return nil
	}
	return n
}

// child returns the node of a key or an index.
func (n *node) child(key string) *node {
	switch {
	case n == nil:
		return nil
	case n.element != nil:
		return n.element
	}
	return n.byName[key]
}

// childIgnoringCase is child for keys in any case.
func (n *node) childIgnoringCase(key string) *node {
	if n != nil && n.element == nil {
		for name, child := range n.byName {
			if strings.EqualFold(name, key) {
				return child
			}
		}
	}
	return n.child(key)
}

func (n *node) sameType(o *node) bool { return n != nil && o != nil && n.goType == o.goType }
