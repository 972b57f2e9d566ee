(** The fixed datasets of a certificate, the boundary whose values were asked for: which they are, how their values are lowered,
    and that [fixed_tops] gives each its bound exactly where its entry is right ([fixed_tops_iff]). *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz String List Bool.
From Duotone Require Import Step Graph Table LineCheck LineCertificate GraphCheck GraphCertificate Balanced.
From Duotone Require Import Rounding GraphRight.
Import ListNotations.
Open Scope R_scope.

Section Complete.
Variables (one : Z) (y above d : Q) (P A : privacy) (c : certificate).
Hypotheses (ratio_P : ratio P = Q2R y) (delta_P : delta P = Q2R d).
Hypotheses (ratio_A : ratio A = Q2R above) (delta_A : delta A = Q2R d).
Hypotheses (one_positive : (0 < one)%Z) (parts_enough : (LOSS | one)%Z).

Notation down := (rounded_down one).
Notation up := (rounded_up one).
Notation part := (part one).

Let even : (2 | one)%Z.
Proof. destruct parts_enough as [k ->]. exists (k * 2 ^ 59)%Z. unfold LOSS. lia. Qed.

Let node_of := by_name (nodes c).
Let beside := join_all (edges c).
Let fixed := fix_all c node_of.
Let paths := by_name (lowered c).
Notation balanced := (fun _ => balanced_top one above d).
Notation top_of_fixed := (fixed_top one (allowed one y d) balanced (step_down one y d) c beside paths).
Notation tops_of_fixed := (fixed_tops one (allowed one y d) balanced (step_down one y d) c beside fixed paths).

(** ** Lookups *)

Lemma find_listed {B} (l : list (string * B)) n v : In (n, v) l -> exists u, Names.find n (by_name l) = Some u.
Proof.
  induction l as [| [k u] l IH]; simpl; [tauto|]. rewrite find_add. intros [[= -> ->] | I].
  - rewrite String.eqb_refl; eauto.
  - destruct (String.eqb k n); eauto.
Qed.

Lemma element_of {B} (m : Names.t B) n v : Names.find n m = Some v -> In (n, v) (Names.elements m).
Proof.
  intros F. apply Facts.find_mapsto_iff, Facts.elements_mapsto_iff in F. revert F.
  induction (Names.elements m) as [| [k u] l IH]; intros F; inversion F as [? ? [E1 E2] | ]; subst; simpl in *.
  - left; subst. f_equal; symmetry; assumption.
  - right; auto.
Qed.

Lemma mem_iff {B} (m : Names.t B) n : Names.mem n m = true <-> Names.find n m <> None.
Proof. rewrite Facts.mem_find_b. destruct (Names.find n m); intuition congruence. Qed.

Lemma joined_near a b : joined beside a b = true <-> @near (graph_of c) a b.
Proof. apply joined_iff. Qed.

(** ** Fixed datasets *)

Lemma fix_ends_keep e n m : Names.find n m <> None -> Names.find n (fix_ends c node_of e m) <> None.
Proof.
  intros H. unfold fix_ends. destruct (Names.find (fst e) node_of) as [v|]; [|exact H].
  destruct (Names.find (snd e) node_of) as [u|]; [|exact H]. destruct (eqb _ _); [exact H|].
  destruct (both c || is_blue u), (both c || is_blue v); rewrite ?find_add;
    repeat destruct (String.eqb _ _); congruence.
Qed.

Lemma fix_ends_add a b v u m : known c a = Some v -> known c b = Some u -> is_blue v <> is_blue u ->
  both c || is_blue v = true ->
  Names.find a (fix_ends c node_of (a, b) m) <> None /\ Names.find a (fix_ends c node_of (b, a) m) <> None.
Proof.
  unfold known; fold node_of; intros Ka Kb C F. unfold fix_ends; simpl; rewrite Ka, Kb.
  apply eqb_false_iff in C. rewrite C. replace (eqb (is_blue u) (is_blue v)) with false
    by (destruct (is_blue u), (is_blue v); auto).
  rewrite F. destruct (both c || is_blue u); rewrite ?find_add, ?String.eqb_refl; split; try destruct (String.eqb _ _);
    congruence.
Qed.

Hypothesis edges_known : forall a b, In (a, b) (edges c) -> a <> b /\ known c a <> None /\ known c b <> None.

Lemma fixed_iff n v : Names.find n fixed = Some v <-> known c n = Some v /\ is_fixed c n.
Proof.
  split; [apply fixed_is|]. intros [K F].
  enough (Names.find n fixed <> None) as E.
  { destruct (Names.find n fixed) as [v'|] eqn:E'; [|congruence]. apply fixed_is in E'. destruct E'. congruence. }
  assert (N : exists b u, known c b = Some u /\ is_blue v <> is_blue u /\ both c || is_blue v = true /\ @near (graph_of c) n b).
  { assert (G : forall b, @near (graph_of c) n b -> exists u, known c b = Some u).
    { intros b [I | I]; apply edges_known in I; destruct I as (_ & ? & ?), (known c b); try congruence; eauto. }
    destruct F as [[C (b & E & D)] | [O [C (b & E & D)]]]; destruct (G b E) as [u Ku]; simpl in C, D; rewrite K in C;
      rewrite Ku in D;
      exists b, u; repeat split; auto; rewrite ?C, ?D, ?orb_true_r, ?O; congruence || reflexivity. }
  destruct N as (b & u & Kb & C & B & E). unfold fixed, fix_all.
  assert (L : forall l, In (n, b) l \/ In (b, n) l ->
    Names.find n (fold_right (fix_ends c node_of) (Names.empty node) l) <> None).
  { induction l as [| e l IH]; simpl; [tauto|]. intros [[-> | I] | [-> | I]];
      [apply (fix_ends_add n b v u) | apply fix_ends_keep | apply (fix_ends_add n b v u) | apply fix_ends_keep]; auto. }
  apply L, E.
Qed.

(** ** Lowered values *)

Lemma along_iff a path n s t : along one P c a path n s t <->
  goes beside a path = true /\ last_name a path = n /\ t = fold_left (fun t _ => step_down one y d t) path s.
Proof.
  revert a s; induction path as [| b path IH]; intros a s; simpl; split.
  - inversion 1; subst; auto.
  - intros (_ & -> & ->); constructor.
  - inversion 1 as [| ? ? ? ? ? s' ? E D R]; subst. apply IH in R.
    replace (step_down one y d s) with s' by (eapply down_once; [eassumption | eassumption | apply (step_down_is one
      one_positive y d P); assumption]).
    rewrite andb_true_iff, joined_near. tauto.
  - rewrite andb_true_iff, joined_near. intros ((E & G) & L & ->).
    apply goes_on with (step_down one y d s); [exact E | apply step_down_is; assumption | apply IH; auto].
Qed.

Lemma distinct_iff path seen : distinct path seen = true <-> NoDup path /\ forall n, In n path -> Names.find n seen = None.
Proof.
  revert seen; induction path as [| a path IH]; intros seen; simpl; [split; [split; [constructor | tauto] | reflexivity]|].
  rewrite andb_true_iff, negb_true_iff, IH, <- not_true_iff_false, mem_iff. split.
  - intros (S & D & F). assert (N : ~ In a path) by
      (intros I; specialize (F a I); rewrite find_add, String.eqb_refl in F; discriminate).
    split; [constructor; assumption|]. intros n [<- | I].
    + destruct (Names.find a seen); [exfalso; apply S; discriminate | reflexivity].
    + specialize (F n I). rewrite find_add in F. destruct (String.eqb a n); congruence.
  - intros (D & F). inversion D as [| ? ? N D']; subst. split; [rewrite F by auto; congruence|]. split; [assumption|].
    intros n I. rewrite find_add. destruct (String.eqb_spec a n) as [-> | _]; [contradiction | auto].
Qed.

Lemma lowered_iff n h : GraphCheck.held one (step_down one y d) c beside paths n = Some h <-> lowered_to one P c n h.
Proof.
  unfold GraphCheck.held, lowered_to, path_to. fold paths. destruct (Names.find n paths) as [path|]; [|intuition congruence].
  destruct path as [| a [| b rest]].
  - split; [discriminate|]. intros (? & ? & ? & ? & ? & ? & E & _); discriminate.
  - split; [discriminate|]. intros (? & ? & ? & ? & ? & ? & E & _); discriminate.
  - split.
    + destruct (_ && _ && _ && _) eqn:C; [|discriminate].
      rewrite !andb_true_iff, negb_true_iff, distinct_iff, String.eqb_eq in C.
      destruct C as (((L & M) & G) & (D & _)). destruct (value_of c a) as [[| m |]|] eqn:V; try discriminate. intros [= <-].
      exists a, b, rest, m, (floor_of one m). eexists. split; [reflexivity|]. split; [exact D|].
      split; [rewrite <- not_true_iff_false, mem_iff in M; 
        destruct (Names.find a paths); [exfalso; apply M; discriminate | reflexivity]|].
      split; [exact V|]. split; [apply floor_is; assumption|]. split; [apply along_iff; auto | reflexivity].
    + intros (a' & b' & rest' & m & s & t & [= <- <- <-] & D & M & V & F & W & ->). apply along_iff in W.
      destruct W as (G & L & ->).
      assert (E : (String.eqb (last_name b rest) n && negb (Names.mem a paths) && goes beside a (b :: rest) &&
        distinct (a :: b :: rest) (Names.empty unit)) = true).
      { rewrite !andb_true_iff, negb_true_iff, distinct_iff, String.eqb_eq, <- not_true_iff_false, mem_iff, M.
        repeat split; auto; try congruence; intros; apply Facts.empty_o. }
      rewrite E, V. rewrite (down_once one one_positive _ _ _ F (floor_is one one_positive m)). reflexivity.
Qed.

Lemma fixed_top_iff n v top : (0 <= says_truth v <= one)%Z ->
  (top_of_fixed n v = Some top <-> fixed_right one P A c n (says_truth v) top).
Proof.
  intros R. unfold fixed_top, fixed_right. set (t := says_truth v) in *.
  assert (E : forall b h, fixed_value one (allowed one y d) (fun _ => balanced_top one above d) b t h = Some top <->
    match b with
    | Balanced => down (balance P) t /\ up (balance A) top
    | Value m => probability (Q2R m) /\
                 match h with None => down (Q2R m) t | Some h => t = h /\ part h <= Q2R m end /\ up (Q2R m) top
    | Selection => False
    end /\ part top < part t + / 2 ^ 60).
  { intros b h. rewrite <- close_iff by assumption. destruct b as [| m |]; simpl.
    - rewrite <- (best_balanced_iff one one_positive y d P) by assumption.
      pose proof (balanced_top_is one one_positive above d A ratio_A delta_A) as T. split.
      + destruct (_ && _) eqn:C; [|discriminate]. intros [= <-]. rewrite andb_true_iff in C. tauto.
      + intros ((B & U) & C). rewrite (up_once one one_positive _ _ _ U T) in *. rewrite B, C; reflexivity.
    - rewrite <- value_iff. pose proof (ceiling_of_is one one_positive m) as T. pose proof (floor_is one one_positive m) as F.
      assert (G : match h with None => (t =? floor_of one m)%Z | Some h => ((t =? h) && (h <=? floor_of one m))%Z end = true <->
                  match h with None => down (Q2R m) t | Some h => t = h /\ part h <= Q2R m end).
      { destruct h as [h|]; [|rewrite Z.eqb_eq; apply down_iff; assumption]. rewrite andb_true_iff, Z.eqb_eq, Z.leb_le.
        destruct F as [F1 F2]. split; intros [-> L]; (split; [reflexivity|]).
        - apply (part_le one one_positive) in L. lra.
        - assert (h < floor_of one m + 1)%Z by (apply (part_lt one one_positive); lra). lia. }
      rewrite <- G. split.
      + destruct (_ && _) eqn:C; [|discriminate]. intros [= <-]. rewrite !andb_true_iff in *. tauto.
      + intros ((V & W & U) & C). rewrite (up_once one one_positive _ _ _ U T) in *. rewrite V, C, W; reflexivity.
    - intuition discriminate. }
  split.
  - destruct (value_of c n) as [b|]; [|discriminate].
    destruct (GraphCheck.held _ _ _ _ _ _) as [h|] eqn:H; [|discriminate]. apply lowered_iff in H. rewrite E. intros X.
    exists b, h; tauto.
  - intros (b & h & -> & H & X). apply lowered_iff in H. rewrite H. apply E, X.
Qed.

Hypothesis in_range : forall n v, In (n, v) (nodes c) -> (0 <= says_truth v <= one)%Z.

Let known_range n v : known c n = Some v -> (0 <= says_truth v <= one)%Z.
Proof. intros K. apply find_by_name in K. eapply in_range, K. Qed.

(** Every fixed dataset has its bound, or one of them is not right. *)
Lemma fixed_tops_iff : match tops_of_fixed with
  | Some start => (forall n top, Names.find n start = Some top <->
        exists v, known c n = Some v /\ is_fixed c n /\ fixed_right one P A c n (says_truth v) top) /\
      forall n v, known c n = Some v -> is_fixed c n -> Names.find n start <> None
  | None => exists n v, known c n = Some v /\ is_fixed c n /\ forall top, ~ fixed_right one P A c n (says_truth v) top
  end.
Proof.
  unfold fixed_tops.
  assert (E : forall n v, In (n, v) (Names.elements fixed) <-> known c n = Some v /\ is_fixed c n).
  { intros n v. rewrite <- fixed_iff. split; [apply find_element | apply element_of]. }
  assert (G : forall l, (forall n v, In (n, v) l -> known c n = Some v /\ is_fixed c n) ->
    match fold_right (fun e tops => match tops, top_of_fixed (fst e) (snd e) with
                                    | Some m, Some top => Some (Names.add (fst e) top m)
                                    | _, _ => None end) (Some (Names.empty Z)) l with
    | Some start => (forall n top, Names.find n start = Some top <->
          exists v, In (n, v) l /\ fixed_right one P A c n (says_truth v) top) /\
        forall n v, In (n, v) l -> Names.find n start <> None
    | None => exists n v, In (n, v) l /\ forall top, ~ fixed_right one P A c n (says_truth v) top
    end).
  { induction l as [| [n v] l IH]; intros L; simpl.
    - split; [|tauto]. intros n top. rewrite Facts.empty_o. split; [discriminate | intros (? & [] & _)].
    - specialize (IH ltac:(intros; apply L; right; assumption)). destruct (L n v ltac:(left; reflexivity)) as [K _].
      pose proof (fixed_top_iff n v) as T. destruct (fold_right _ _ l) as [start|].
      + destruct (fixed_top _ _ _ _ _ _ _ n v) as [top|].
        * split.
          { intros n' top'. rewrite find_add. destruct (String.eqb_spec n n') as [<- | N].
            - rewrite T by (eapply known_range, K). split; [intros X; exists v; auto|].
              intros (v' & [[= <-] | I] & X); [exact X|]. apply (fun H => L n v' (or_intror H)) in I. destruct I as [K' _].
              replace v with v' by congruence. exact X.
            - rewrite (proj1 IH). split; intros (v' & I & X); exists v'; (split; [|exact X]); [right; exact I|].
              destruct I as [[= -> ->] | I]; [congruence | exact I]. }
          { intros n' v'. rewrite find_add. destruct (String.eqb_spec n n') as [<- | N]; [congruence|].
            intros [[= -> ->] | I]; [congruence | eapply (proj2 IH), I]. }
        * exists n, v. split; [left; reflexivity|]. intros top X. apply T in X; [congruence | eapply known_range, K].
      + destruct IH as (n' & v' & I & X). exists n', v'. auto. }
  specialize (G (Names.elements fixed) (fun n v => proj1 (E n v))). destruct (fold_right _ _ _) as [start|].
  - split; [|intros n v K F; apply (proj2 G n v), E; auto].
    intros n top. rewrite (proj1 G). split; intros (v & H); exists v; rewrite E in *; tauto.
  - destruct G as (n & v & I & X). exists n, v. rewrite E in I. tauto.
Qed.

End Complete.
