package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// table is the list and the watch of one kind. It is listed and watched once.
type table struct {
	list   runtime.Object
	events chan watch.Event
}

func (t *table) List(metav1.ListOptions) (runtime.Object, error) { return t.list, nil }

func (t *table) Watch(metav1.ListOptions) (watch.Interface, error) { return t, nil }

// IsWatchListSemanticsUnSupported makes the reflector list and then watch.
func (t *table) IsWatchListSemanticsUnSupported() bool { return true }

func (t *table) ResultChan() <-chan watch.Event { return t.events }

func (t *table) Stop() {}
