// This file holds a component with a transform and hooks of its own, which the engine calls also when Construct has ended.
package main

import (
	"context"
	"fmt"
	"os"
	"syscall"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// GuardedArgs are the inputs of a Guarded.
type GuardedArgs struct {
	Size pulumi.IntInput `pulumi:"size"`
	// Count is how many things it has.
	Count int `pulumi:"count"`
	// Refused is the thing that the transform refuses, the moment in which the hook fails, or "construct", in which the component does.
	Refused string `pulumi:"refused,optional"`
	// Dies is the moment in which the process of the host ends.
	Dies string `pulumi:"dies,optional"`
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
	hooks, err := registerHooks(ctx, name, args)
	if err != nil {
		return nil, err
	}
	below := pulumi.Composite(
		pulumi.Parent(guarded), pulumi.Transforms([]pulumi.ResourceTransform{larger}), pulumi.ResourceHooks(hooks),
	)
	for number := range args.Count {
		inputs := pulumi.Map{"size": args.Size}
		child := fmt.Sprintf("%s-%d", name, number)
		if err := ctx.RegisterResource("things:index:Thing", child, inputs, &plainResource{}, below); err != nil {
			return nil, err
		}
	}
	guarded.Size = args.Size.ToIntOutput()
	return guarded, nil
}

// registerHooks registers a hook for each moment, and one that has failed operations repeated. Where the environment
// variable GUARDED_LOG names a file, each adds a line to it: the moment and the resource.
func registerHooks(ctx *pulumi.Context, name string, args GuardedArgs) (*pulumi.ResourceHookBinding, error) {
	run := func(moment, resource string) error {
		if err := note("GUARDED_LOG", moment+" "+resource); err != nil {
			return err
		}
		if args.Dies == moment {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		if args.Refused == moment {
			return fmt.Errorf("no %s of %s today", moment, resource)
		}
		return nil
	}
	hooks := &pulumi.ResourceHookBinding{}
	for moment, bound := range map[string]*[]*pulumi.ResourceHook{
		"before_create": &hooks.BeforeCreate,
		"after_create":  &hooks.AfterCreate,
		"before_update": &hooks.BeforeUpdate,
		"after_update":  &hooks.AfterUpdate,
		"before_delete": &hooks.BeforeDelete,
		"after_delete":  &hooks.AfterDelete,
	} {
		hook, err := ctx.RegisterResourceHook(name+" "+moment, func(call *pulumi.ResourceHookArgs) error {
			return run(moment, call.Name)
		}, nil)
		if err != nil {
			return nil, err
		}
		*bound = []*pulumi.ResourceHook{hook}
	}
	hook, err := ctx.RegisterErrorHook(name+" on_error", func(call *pulumi.ErrorHookArgs) (bool, error) {
		err := run("on_error", call.Name)
		return err == nil, err
	})
	hooks.OnError = []*pulumi.ErrorHook{hook}
	return hooks, err
}
