// This program runs the life cycle of a stack through Go's Automation API, which starts the executable `pulumi` of PATH, and prints
// what it found as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

type file struct {
	pulumi.CustomResourceState

	Size pulumi.IntOutput `pulumi:"size"`
}

// found is what the life cycle came to.
type found struct {
	Previewed    map[string]int `json:"previewed"`
	Created      map[string]int `json:"created"`
	Again        map[string]int `json:"again"`
	Refreshed    map[string]int `json:"refreshed"`
	Destroyed    map[string]int `json:"destroyed"`
	Size         float64        `json:"size"`
	Password     any            `json:"password"`
	IsSecret     bool           `json:"isSecret"`
	HistoryKinds []string       `json:"historyKinds"`
	Events       int            `json:"events"`
	Stacks       int            `json:"stacks"`
}

// program declares one file with the configured content.
func program(folder string) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		settings := config.New(ctx, "")
		var greeting file
		inputs := pulumi.Map{
			"path":    pulumi.String(filepath.Join(folder, "greeting.txt")),
			"content": pulumi.String(settings.Require("content")),
		}
		if err := ctx.RegisterResource("gofiles:index:File", "greeting", inputs, &greeting); err != nil {
			return err
		}
		ctx.Export("size", greeting.Size)
		ctx.Export("password", settings.RequireSecret("password"))
		return nil
	}
}

// counts returns the counts of a summary without those of unchanged resources.
func counts(changes *map[string]int) map[string]int {
	counted := map[string]int{}
	if changes != nil {
		for name, count := range *changes {
			counted[name] = count
		}
	}
	return counted
}

func run(ctx context.Context, folder string) (*found, error) {
	var result found
	stack, err := auto.UpsertStackInlineSource(ctx, "dev", "shop", program(folder))
	if err != nil {
		return nil, fmt.Errorf("opening the stack: %w", err)
	}
	if err := stack.SetConfig(ctx, "content", auto.ConfigValue{Value: "hello"}); err != nil {
		return nil, fmt.Errorf("configuring: %w", err)
	}
	secret := auto.ConfigMap{"password": {Value: "hunter2", Secret: true}}
	if err := stack.SetAllConfig(ctx, secret); err != nil {
		return nil, fmt.Errorf("configuring all: %w", err)
	}
	previewed, err := stack.Preview(ctx, optpreview.Message("first"))
	if err != nil {
		return nil, fmt.Errorf("previewing: %w", err)
	}
	result.Previewed = map[string]int{}
	for op, count := range previewed.ChangeSummary {
		result.Previewed[string(op)] = count
	}
	stream := make(chan events.EngineEvent)
	counted := make(chan int)
	go func() {
		count := 0
		for range stream {
			count++
		}
		counted <- count
	}()
	up, err := stack.Up(ctx, optup.EventStreams(stream), optup.ProgressStreams(os.Stderr))
	if err != nil {
		return nil, fmt.Errorf("updating: %w", err)
	}
	result.Events = <-counted
	result.Created = counts(up.Summary.ResourceChanges)
	if err := stack.SetConfig(ctx, "content", auto.ConfigValue{Value: "hello, world"}); err != nil {
		return nil, fmt.Errorf("configuring again: %w", err)
	}
	again, err := stack.Up(ctx)
	if err != nil {
		return nil, fmt.Errorf("updating again: %w", err)
	}
	result.Again = counts(again.Summary.ResourceChanges)
	outputs, err := stack.Outputs(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the outputs: %w", err)
	}
	result.Size, _ = outputs["size"].Value.(float64)
	result.Password, result.IsSecret = outputs["password"].Value, outputs["password"].Secret
	refreshed, err := stack.Refresh(ctx)
	if err != nil {
		return nil, fmt.Errorf("refreshing: %w", err)
	}
	result.Refreshed = counts(refreshed.Summary.ResourceChanges)
	history, err := stack.History(ctx, 10, 1)
	if err != nil {
		return nil, fmt.Errorf("reading the history: %w", err)
	}
	for _, entry := range history {
		result.HistoryKinds = append(result.HistoryKinds, entry.Kind)
	}
	destroyed, err := stack.Destroy(ctx, optdestroy.Message("last"))
	if err != nil {
		return nil, fmt.Errorf("destroying: %w", err)
	}
	result.Destroyed = counts(destroyed.Summary.ResourceChanges)
	if err := stack.Workspace().RemoveStack(ctx, "dev"); err != nil {
		return nil, fmt.Errorf("removing: %w", err)
	}
	stacks, err := stack.Workspace().ListStacks(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing: %w", err)
	}
	result.Stacks = len(stacks)
	return &result, nil
}

func main() {
	result, err := run(context.Background(), os.Args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
