package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/plot"
	"github.com/doubletake-dev/doubletake/analysis/report"
)

// pageOf is the page of a run, its pairs with their transcripts and its plots with it.
func pageOf(found *analysis.Night) (report.Page, error) {
	page := report.Page{Report: found.Report, Record: found.Record, Queue: found.Queue}
	figures, err := figuresOf(found.Report)
	if err != nil {
		return page, err
	}
	places := map[string]**report.Figure{
		"effect": &page.Figures.Effect, "evidence": &page.Figures.Evidence,
		"retention": &page.Figures.Retention, "power": &page.Figures.Power,
	}
	for _, figure := range figures {
		var light, dark bytes.Buffer
		err := errors.Join(figure.Write(&light, plot.SVG, plot.Light), figure.Write(&dark, plot.SVG, plot.Dark))
		if err != nil {
			return page, fmt.Errorf("drawing %s: %w", figure.name, err)
		}
		*places[figure.name] = &report.Figure{Title: figure.Title(), Description: figure.Description(), Light: light.Bytes(), Dark: dark.Bytes()}
	}
	return page, nil
}
