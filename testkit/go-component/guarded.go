// This file holds a component with a transform of its own and, with the newest library, hooks, which the engine calls also when Construct has ended.
package main

import (
	"context"
	"fmt"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// GuardedArgs are the inputs of a Guarded.
type GuardedArgs struct {
	Size pulumi.IntInput `pulumi:"size"`
	// Count is how many things it has.
	Count int `pulumi:"count"`
	// Refused is the thing that the transform refuses, the moment in which the hook fails, or where the component does: in "construct", or in
	// the function of an "input" or an "output".
	Refused string `pulumi:"refused,optional"`
	// Dies is the moment in which the process of the host ends.
	Dies string `pulumi:"dies,optional"`
	// Retries is how often a failed operation on a thing is repeated.
	Retries int `pulumi:"retries,optional"`
}

// Guarded is a component whose things have a transform and hooks.
type Guarded struct {
	pulumi.ResourceState
	Size pulumi.IntOutput `pulumi:"size"`
}

// NewGuarded registers a guarded component and its things.
func NewGuarded(ctx *pulumi.Context, name string, args GuardedArgs, options ...pulumi.ResourceOption) (*Guarded, error) {
	guarded := &Guarded{}
	if err := ctx.RegisterComponentResource(p.GetTypeToken(ctx.Context()), name, guarded, options...); err != nil {
		return nil, err
	}
	if args.Refused == "construct" {
		return nil, fmt.Errorf("no construct of %s today", name)
	}
	larger := func(_ context.Context, given *pulumi.ResourceTransformArgs) *pulumi.ResourceTransformResult {
		size := given.Props["size"].(pulumi.Output).ApplyT(func(size any) (float64, error) {
			if given.Name == args.Refused {
				return 0, fmt.Errorf("no size of %s today", given.Name)
			}
			return size.(float64) + 100, nil
		})
		return &pulumi.ResourceTransformResult{Props: pulumi.Map{"size": size}, Opts: given.Opts}
	}
	hooks, err := hooksOf(ctx, name, args)
	if err != nil {
		return nil, err
	}
	below := pulumi.Composite(pulumi.Parent(guarded), pulumi.Transforms([]pulumi.ResourceTransform{larger}), hooks)
	sizeAt := func(place string) pulumi.IntOutput {
		return args.Size.ToIntOutput().ApplyT(func(size int) (int, error) {
			if args.Refused == place {
				return 0, fmt.Errorf("no %s of %s today", place, name)
			}
			return size, nil
		}).(pulumi.IntOutput)
	}
	for number := range args.Count {
		inputs := pulumi.Map{"size": sizeAt("input")}
		child := fmt.Sprintf("%s-%d", name, number)
		if err := ctx.RegisterResource("things:index:Thing", child, inputs, &plainResource{}, below); err != nil {
			return nil, err
		}
	}
	guarded.Size = sizeAt("output")
	return guarded, nil
}
