//go:build newest

// This file holds what the newest library of providers passes on and older ones do not: hooks, and triggers of replacements.
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"syscall"
	"unsafe"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"
)

// hooksOf registers a hook for each moment, and one that has failed operations repeated, and returns the option that binds them.
// Where the environment variable GUARDED_LOG names a file, each adds a line to it: the moment and the resource.
func hooksOf(ctx *pulumi.Context, name string, args GuardedArgs) (pulumi.ResourceOption, error) {
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
		if err := untilRegistered(ctx.Context(), hook); err != nil {
			return nil, err
		}
		*bound = []*pulumi.ResourceHook{hook}
	}
	hook, err := ctx.RegisterErrorHook(name+" on_error", func(call *pulumi.ErrorHookArgs) (bool, error) {
		err := run("on_error", call.Name)
		return len(call.Errors) <= args.Retries, err
	})
	if err == nil {
		err = untilRegistered(ctx.Context(), hook)
	}
	hooks.OnError = []*pulumi.ErrorHook{hook}
	return pulumi.ResourceHooks(hooks), err
}

// untilRegistered waits until the engine knows a hook. The SDK waits for that only where a resource is registered with the hook, and has no public
// function for it: a component without such a resource could return before.
func untilRegistered(ctx context.Context, hook any) error {
	field := reflect.ValueOf(hook).Elem().FieldByName("registered")
	registered := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
	result := registered.MethodByName("Result").Call([]reflect.Value{reflect.ValueOf(ctx)})
	err, _ := result[len(result)-1].Interface().(error)
	return err
}

// seenNewerOptions describes hooks and the trigger of replacements.
func seenNewerOptions(ctx *pulumi.Context, found *pulumi.ResourceOptions, known map[string]any) error {
	if found.Hooks != nil {
		hooks := []string{}
		for _, hook := range found.Hooks.AfterCreate {
			hooks = append(hooks, hook.Name)
		}
		known["hooks"] = hooks
	}
	if found.ReplacementTrigger == nil {
		return nil
	}
	result, err := internals.UnsafeAwaitOutput(ctx.Context(), pulumi.ToOutput(found.ReplacementTrigger))
	known["replacementTrigger"] = result.Value
	return err
}
