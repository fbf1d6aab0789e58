package model_test

import (
	"fmt"

	"github.com/berthproject/berth/engine/model"
)

func ExampleSelector_Matches() {
	s := &model.Selector{Requirements: []model.Requirement{
		{Key: "app", Op: model.In, Values: []string{"api", "web"}},
		{Key: "canary", Op: model.DoesNotExist},
	}}
	fmt.Println(s.Matches(model.LabelsOf(map[string]string{"app": "web"})))
	fmt.Println(s.Matches(model.LabelsOf(map[string]string{"app": "web", "canary": "true"})))
	// Output:
	// true
	// false
}

func ExampleToleration_ToleratesTaint() {
	t := model.Toleration{Key: "dedicated", Op: model.TolEqual, Value: "gpu", Effect: model.NoSchedule}
	fmt.Println(t.ToleratesTaint(&model.Taint{Key: "dedicated", Value: "gpu", Effect: model.NoSchedule}, false))
	fmt.Println(t.ToleratesTaint(&model.Taint{Key: "dedicated", Value: "gpu", Effect: model.NoExecute}, false))
	// Output:
	// true
	// false
}

func ExampleIntOrPercent_ScaledValue() {
	half := model.IntOrPercent{Set: true, Percent: true, Value: 50}
	fmt.Println(half.ScaledValue(7))
	// Output: 4
}
