package kinds

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/berthproject/berth/apiserver/validation/core"
)

// eventTTL is the retention of events, in seconds.
const eventTTL = 60 * 60

// eventKinds returns the two kinds of events. They share one store, which holds core/v1 Events.
func eventKinds() []Kind {
	return []Kind{
		{
			GroupVersion: v1, Kind: "Event", Resource: "events", ShortNames: []string{"ev"}, Namespaced: true,
			New:                 func() runtime.Object { return &corev1.Event{} },
			NewList:             func() runtime.Object { return &corev1.EventList{} },
			AllowCreateOnUpdate: true, NoGarbageCollection: true, NoWatchCache: true,
			TTL:    func(runtime.Object) uint64 { return eventTTL },
			Hooks:  eventHooks(),
			Fields: eventFields,
		},
		{
			GroupVersion: eventsv1.SchemeGroupVersion, Kind: "Event", Resource: "events", ShortNames: []string{"ev"}, Namespaced: true,
			New:                 func() runtime.Object { return &eventsv1.Event{} },
			NewList:             func() runtime.Object { return &eventsv1.EventList{} },
			AllowCreateOnUpdate: true, NoGarbageCollection: true,
			Hub:          &Hub{Of: corev1.Resource("events"), AddConversions: addEventConversions},
			FieldAliases: eventFieldAliases,
		},
	}
}

// eventHooks returns the hooks of events, whose validation depends on the API group of the request.
func eventHooks() Hooks {
	return Hooks{
		Validate: func(ctx context.Context, obj runtime.Object) field.ErrorList {
			return core.ValidateEvent(obj.(*corev1.Event), requestVersion(ctx))
		},
		ValidateUpdate: func(ctx context.Context, obj, old runtime.Object) field.ErrorList {
			return core.ValidateEventUpdate(obj.(*corev1.Event), old.(*corev1.Event), requestVersion(ctx))
		},
	}
}

// requestVersion returns the group and version of the request, core/v1 outside of requests.
func requestVersion(ctx context.Context) schema.GroupVersion {
	if info, found := genericapirequest.RequestInfoFrom(ctx); found {
		return schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	}
	return corev1.SchemeGroupVersion
}

func addEventConversions(s *runtime.Scheme) error {
	if err := s.AddConversionFunc((*eventsv1.Event)(nil), (*corev1.Event)(nil), func(a, b any, _ conversion.Scope) error {
		eventToCore(a.(*eventsv1.Event), b.(*corev1.Event))
		return nil
	}); err != nil {
		return err
	}
	if err := s.AddConversionFunc((*corev1.Event)(nil), (*eventsv1.Event)(nil), func(a, b any, _ conversion.Scope) error {
		eventFromCore(a.(*corev1.Event), b.(*eventsv1.Event))
		return nil
	}); err != nil {
		return err
	}
	if err := s.AddConversionFunc((*eventsv1.EventList)(nil), (*corev1.EventList)(nil), func(a, b any, _ conversion.Scope) error {
		from, to := a.(*eventsv1.EventList), b.(*corev1.EventList)
		to.ListMeta = from.ListMeta
		to.Items = make([]corev1.Event, len(from.Items))
		for i := range from.Items {
			eventToCore(&from.Items[i], &to.Items[i])
		}
		return nil
	}); err != nil {
		return err
	}
	return s.AddConversionFunc((*corev1.EventList)(nil), (*eventsv1.EventList)(nil), func(a, b any, _ conversion.Scope) error {
		from, to := a.(*corev1.EventList), b.(*eventsv1.EventList)
		to.ListMeta = from.ListMeta
		to.Items = make([]eventsv1.Event, len(from.Items))
		for i := range from.Items {
			eventFromCore(&from.Items[i], &to.Items[i])
		}
		return nil
	})
}

func eventToCore(from *eventsv1.Event, to *corev1.Event) {
	*to = corev1.Event{
		ObjectMeta:          from.ObjectMeta,
		InvolvedObject:      from.Regarding,
		Reason:              from.Reason,
		Message:             from.Note,
		Source:              from.DeprecatedSource,
		FirstTimestamp:      from.DeprecatedFirstTimestamp,
		LastTimestamp:       from.DeprecatedLastTimestamp,
		Count:               from.DeprecatedCount,
		Type:                from.Type,
		EventTime:           from.EventTime,
		Action:              from.Action,
		Related:             from.Related,
		ReportingController: from.ReportingController,
		ReportingInstance:   from.ReportingInstance,
	}
	if from.Series != nil {
		to.Series = &corev1.EventSeries{Count: from.Series.Count, LastObservedTime: from.Series.LastObservedTime}
	}
}

func eventFromCore(from *corev1.Event, to *eventsv1.Event) {
	*to = eventsv1.Event{
		ObjectMeta:               from.ObjectMeta,
		EventTime:                from.EventTime,
		ReportingController:      from.ReportingController,
		ReportingInstance:        from.ReportingInstance,
		Action:                   from.Action,
		Reason:                   from.Reason,
		Regarding:                from.InvolvedObject,
		Related:                  from.Related,
		Note:                     from.Message,
		Type:                     from.Type,
		DeprecatedSource:         from.Source,
		DeprecatedFirstTimestamp: from.FirstTimestamp,
		DeprecatedLastTimestamp:  from.LastTimestamp,
		DeprecatedCount:          from.Count,
	}
	if from.Series != nil {
		to.Series = &eventsv1.EventSeries{Count: from.Series.Count, LastObservedTime: from.Series.LastObservedTime}
	}
}

// eventFieldAliases maps the selectable fields of events.k8s.io to those of core/v1.
var eventFieldAliases = map[string]string{
	"regarding.kind":            "involvedObject.kind",
	"regarding.namespace":       "involvedObject.namespace",
	"regarding.name":            "involvedObject.name",
	"regarding.uid":             "involvedObject.uid",
	"regarding.apiVersion":      "involvedObject.apiVersion",
	"regarding.resourceVersion": "involvedObject.resourceVersion",
	"regarding.fieldPath":       "involvedObject.fieldPath",
	"reason":                    "reason",
	"reportingController":       "reportingComponent",
	"type":                      "type",
}
