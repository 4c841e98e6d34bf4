"""How much of each fault there is: drawn from a seed, between a calm and a storm."""

from dataclasses import fields, replace
from random import Random
from typing import Any, TypeVar

AnyWeather = TypeVar("AnyWeather")


def faults_of(weather: Any) -> list[str]:
    """What happens at all: the fields that are not 0."""
    return [each.name for each in fields(weather) if getattr(weather, each.name)]


def drawn_between(calm: AnyWeather, storm: AnyWeather, chance: Random, milder: int) -> AnyWeather:
    """Some of the faults of `storm`, each as there or so many times milder.

    Whole numbers are milliseconds between two faults, others how likely one is.
    """
    weather: Any = calm
    for name in faults_of(storm):
        if chance.random() < 0.5:
            hard = getattr(storm, name)
            mild = hard * milder if isinstance(hard, int) else hard / milder
            weather = replace(weather, **{name: hard if chance.random() < 0.5 else mild})
    found: AnyWeather = weather
    return found
