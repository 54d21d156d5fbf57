"""Digests of the builtins of the engine version this product was measured against.

They let an import tell whether it read that engine's real texts; the texts themselves are not ours to ship.
"""

from __future__ import annotations

ENGINE_VERSION = "3.121.0"

# Over the canonical JSON of a feature, its id included.
FEATURES = {
    "wr.features.capabilities": "11341be32a7bd3b6304c5e2db3c8e7a26af5566cdd192ce42ac4d3ad681ee51a",
    "wr.features.memory_context": "c40596b03c6c3c67509cb0889169af65f1acad8dae2caf5b8e1fbe62a46e3e78",
    "wr.features.subagent_guidance": "57974193869abcd2794ced392f17deb3e65f3ded39020e11e8092a37983f5489",
}

# Over the UTF-8 bytes of a text.
REFS = {
    "wr.refs.adversarial_challenge_rules": "4134f706337dedf19a54f84c87ec4d9c64c30f4f20b29f7114cb6996cfd2ab64",
    "wr.refs.memory_query": "71e53c33bfd1d8f496d4dd0f400034ba66dd6464cb777faaa7d856854cc4ce10",
    "wr.refs.memory_store": "e9aae0b8dc3b963dc3d44e0b4ddd1213e1d6f7c422212615820931f2d45c9e5d",
    "wr.refs.memory_usage": "61da8ed9c0e8dfaf78625c843c2de8145171b146fc071acf0df9255ea81d02c3",
    "wr.refs.notes_first_durability": "67a75a607532067b6f9fb9a8ba6318b1b679a904b9335afa6c0001cd130ea028",
    "wr.refs.parallelize_cognition_serialize_synthesis": (
        "de2485df94abae8675e7fce2b9df67248416de08fd4f64487734508350574696"
    ),
    "wr.refs.synthesis_under_disagreement": "f2d0cb9082384b4bf7b6bfb302ff714c9152ac5891633ce1c12fc8487386fca3",
}

# Over the canonical JSON of a routine file.
ROUTINES = {
    "wr.routine-context-gathering": "28e0c65c43c18eb54bc63663a4c1ffe7543b1309eaa89f35f2139b3e99a3c5e4",
    "wr.routine-design-review": "54a782c539f53b4e8beb3aec19d32dbf42252bbe698875efea2921f466f0f614",
    "wr.routine-execution-simulation": "3ea95443152767c2e4d06246c04ca7fc20e40081572a74b260ad2c5fa51ee303",
    "wr.routine-feature-implementation": "83b2b69a29d9f0d4b50c36b1d73a297d2a439997aa72a8e44fa034894c21d860",
    "wr.routine-feedback-resolution": "399387334d47b803bfc1746ba7c89dcc7f5d0a520b265a07b5bd1f64b7430aaa",
    "wr.routine-final-verification": "7da9fbf7192c8b752fec52bf113d17bf1300a5d03c3dcabba7153096be488289",
    "wr.routine-hypothesis-challenge": "87ea20afcd6976d035114283dba6db3fd4c62ce2cb79701e18d7e4b475817fd2",
    "wr.routine-ideation": "92a40b1812e6a40eeec9c0abe009a68077fc408a023b567d969bc84016386339",
    "wr.routine-parallel-work-partitioning": "5c989eab4a4a5e7e3c9def4b40066e5f803fb31aed632e9d2f122af57451d748",
    "wr.routine-philosophy-alignment": "2ee26e547de1b7a833585304c0699adcb0aac7233b0e90a248b2b71b6f6f130d",
    "wr.routine-plan-analysis": "208fdf67a81787b2d6ffcdfec8f296bd952493edf375e01f8be93f4e65ac5473",
    "wr.routine-plan-generation": "7569a03c6af78374ad722043ca78c7011d06093e8b87f0e420b2412e30d1f490",
    "wr.routine-reviewer-family": "79fda896c2ebe617c75b78d6ce42386585e8caba3816bea13a3df9864f5b1096",
    "wr.routine-tension-driven-design": "38d6d5db09b9004f12ade0904c564a36811e650e93c1ad0ea2210670797d3a0d",
}
