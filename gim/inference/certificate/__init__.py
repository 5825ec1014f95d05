"""Certificates: what a policy earns and loses at the most, and how far a learned model is off."""

from gim.inference.certificate.certificate import (
    Certificate,
    Coverage,
    Learned,
    certifiable,
    certified,
    certify,
)
from gim.inference.certificate.facts import Aim, facts_of

__all__ = [
    "Aim",
    "Certificate",
    "Coverage",
    "Learned",
    "certifiable",
    "certified",
    "certify",
    "facts_of",
]
